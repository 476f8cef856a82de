import Foundation
import Testing
import struct Wire.JSONObject

@testable import GeomatchClient

@Suite("Objects", .timeLimit(.minutes(5)))
struct ObjectTests {
    @Test("A handle goes through creating, created, deleting, deleted")
    func handle() async throws {
        try await withDaemon { broker, _ in
            let client = try GeomatchClient(broker.configuration())
            let handle = client.devices.create(.pin(id: "cafe", location: GeoLocation(latitude: 43.73, longitude: 7.42)))
            let states = handle.states
            let device = try await handle.value
            #expect(device.kind == .pin && device.location?.latitude == 43.73)
            try await handle.delete()
            try await handle.delete()
            var reported: [String] = []
            for await state in states { reported.append(state.name) }
            #expect(reported == ["creating", "created", "deleting", "deleted"])
            #expect(try await handle.value.id == "cafe")
            await client.close()
        }
    }

    @Test("A handle that fails to create says why and ends")
    func failedCreation() async throws {
        try await withDaemon { broker, daemon in
            daemon.answer("publication/create", .error(["code": 403, "error": "limit", "message": "1000 are there"]))
            let client = try GeomatchClient(broker.configuration())
            let handle = client.publications.create(
                GeoPublication.Draft(on: "cafe", topic: "coffee", range: 50, duration: .seconds(60)))
            let states = handle.states
            #expect(await failure { () throws(GeomatchError) in try await handle.value }?.kind == .limit)
            #expect(await failure { () throws(GeomatchError) in try await handle.delete() }?.kind == .limit)
            var reported: [String] = []
            for await state in states { reported.append(state.name) }
            #expect(reported == ["creating", "failed: limit"])
            await client.close()
        }
    }

    @Test("A handle that fails to delete still exists and can be deleted again")
    func failedDeletion() async throws {
        try await withDaemon { broker, daemon in
            daemon.answer("device/delete", .error(["code": 500, "error": "internal", "message": "disk full"]))
            let client = try GeomatchClient(broker.configuration())
            let handle = client.devices.handle(try await client.devices.get("phone"))
            let states = handle.states
            #expect(await failure { () throws(GeomatchError) in try await handle.delete() }?.kind == .internal)
            try await handle.delete()
            var reported: [String] = []
            for await state in states { reported.append(state.name) }
            #expect(reported == ["created", "deleting", "failed: internal", "deleting", "deleted"])
            await client.close()
        }
    }

    @Test("Circumstances are registered with the daemon, listed, evaluated and unregistered; a mistake has its position")
    func circumstances() async throws {
        try await withHub { broker, _ in
            let client = try GeomatchClient(broker.configuration())
            _ = try await client.devices.create(.pin(id: "door", location: GeoLocation(latitude: 43.73, longitude: 7.42))).value
            let draft = GeoCircumstance.Draft(
                id: "still", "(not (moving))", on: .arriving, name: "Standing", tags: ["a"], devices: ["door"], nearRadius: 100,
                exitMargin: 20)
            let still = try await client.circumstances.register(draft)
            #expect(still.expression == "(not (moving))" && still.trigger == .arriving && still.name == "Standing")
            #expect(still.tags == ["a"] && still.devices == ["door"] && still.nearRadius?.value == 100 && still.isEnabled)
            #expect(still.exitMargin?.value == 20)
            #expect(still.description.hasPrefix(#"GeoCircumstance {"createdAt":"#))
            #expect(try await client.circumstances.disable("still").isEnabled == false)
            #expect(try await client.circumstances.enable("still").isEnabled)
            _ = try await client.circumstances.register(
                GeoCircumstance.Draft(id: "on-demand", "(near (= category-id \"cafe\"))"))
            let first = try await client.circumstances.list(limit: 1)
            #expect(first.objects.map(\.id) == ["on-demand"] && first.objects[0].trigger == nil)
            #expect(try await client.circumstances.list(after: first.next).objects.map(\.id) == ["still"])
            #expect(try await client.circumstances.evaluate("on-demand", for: "door").isTrue == nil)
            try await client.circumstances.unregister("on-demand")
            #expect(try await client.circumstances.list().objects.map(\.id) == ["still"])
            let failure = await failure { () throws(GeomatchError) in
                try await client.circumstances.register(GeoCircumstance.Draft(id: "x", "(at cafe)"))
            }
            #expect(failure?.kind == .invalid && failure?.position != nil)
            await client.close()
        }
    }

    @Test("An object is shown by its type and what the daemon said of it")
    func description() throws {
        let device = try GeoDevice(members: ["id": "door", "deviceType": "PinDevice"])
        #expect("\(device)" == #"GeoDevice {"deviceType":"PinDevice","id":"door"}"#)
    }

    @Test("Objects go out and come back under the names of the contract")
    func subscriptionOnTheWire() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let draft = GeoSubscription.Draft(
                on: "phone", topic: "coffee", range: 50, duration: .seconds(3600), selector: "price < 5",
                matchTTL: .milliseconds(1500), matchDTL: 10, mode: .visit, dwell: .seconds(5), exitMargin: 20, excludeSelf: true,
                pushers: ["https://example.org/hook"], id: "thirsty")
            let subscription = try await client.subscriptions.create(draft).value
            var parameters = await daemon.request("subscription/create").parameters
            parameters["requestId"] = nil
            let expected: JSONObject = [
                "deviceId": "phone", "dwell": 5.0, "duration": 3600.0, "excludeSelf": true, "exitMargin": 20.0, "id": "thirsty",
                "matchDTL": 10.0, "matchTTL": 1.5, "mode": "visit", "pushers": ["https://example.org/hook"], "range": 50.0,
                "selector": "price < 5", "topic": "coffee",
            ]
            #expect(PropertyValue(.object(parameters)).numbers == PropertyValue(.object(expected)).numbers)
            #expect(subscription.mode == .visit && subscription.selector == "price < 5" && subscription.duration == 3600)

            daemon.answer(
                "publication/update", .result(["id": "p", "deviceId": "cafe", "topic": "coffee", "range": 5]))
            _ = try await client.publications.update(
                "p", GeoPublication.Changes(range: 5, properties: ["price": 2]), revision: "1-a")
            parameters = await daemon.request("publication/update").parameters
            parameters["requestId"] = nil
            #expect(
                PropertyValue(.object(parameters)).numbers
                    == ["id": "p", "properties": ["price": 2.0], "range": 5.0, "revision": "1-a"])
            await client.close()
        }
    }

    @Test("A batch answers for each draft, in order")
    func batch() async throws {
        try await withDaemon { broker, daemon in
            daemon.answer(
                "device/create",
                .result([
                    "items": [
                        ["id": "a", "deviceType": "MobileDevice"],
                        ["error": ["code": 409, "error": "conflict", "message": "exists"]],
                    ]
                ]))
            let client = try GeomatchClient(broker.configuration())
            let results = try await client.devices.create([.mobile(id: "a"), .mobile(id: "a")])
            #expect(try results[0].get().kind == .mobile)
            #expect(throws: GeomatchError(.conflict, "exists", code: 409)) { try results[1].get() }
            let items = await daemon.request("device/create").parameters["items"]?.asArray
            #expect(items?.count == 2)
            await client.close()
        }
    }

    @Test("A list comes in pages")
    func pages() async throws {
        try await withDaemon { broker, daemon in
            daemon.answer("device/list", .result(["devices": [["id": "a"], ["id": "b"]], "next": "b"]))
            let client = try GeomatchClient(broker.configuration())
            let page = try await client.devices.list(type: .pin, limit: 2)
            #expect(page.objects.map(\.id) == ["a", "b"] && page.next == "b")
            let parameters = await daemon.request("device/list").parameters
            #expect(parameters["limit"] == 2 && parameters["deviceType"] == "PinDevice")
            await client.close()
        }
    }

    @Test("Why a pair matches comes check by check")
    func explanation() async throws {
        try await withDaemon { broker, daemon in
            daemon.answer(
                "match/explain",
                .result([
                    "matches": false,
                    "checks": [
                        ["check": "topic", "pass": true, "detail": "coffee"],
                        ["check": "range", "pass": false, "detail": ["distance": 70]],
                    ],
                ]))
            let client = try GeomatchClient(broker.configuration())
            let explanation = try await client.matches.explain(publication: "p", subscription: "s")
            #expect(!explanation.matches)
            #expect(explanation.checks.map(\.passes) == [true, false])
            #expect(explanation.checks.map(\.detail) == ["coffee", #"{"distance":70}"#])
            await client.close()
        }
    }
}

extension ObjectHandle.State {
    fileprivate var name: String {
        switch self {
        case .creating: "creating"
        case .created: "created"
        case .failed(let error): "failed: \(error.kind.rawValue)"
        case .deleting: "deleting"
        case .deleted: "deleted"
        }
    }
}
