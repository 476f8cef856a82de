import Foundation
import Testing

@testable import GeomatchClient

@Suite("The fake for applications", .timeLimit(.minutes(1)))
struct GeomatchFakeTests {
    @Test("Objects are created, read, changed, listed and deleted; what is refused is refused as by the daemon")
    func objects() async throws {
        let fake = GeomatchFake(dataset: "demo")
        let client = try fake.client("me")
        let phone = try await client.devices.create(.mobile(id: "phone", name: "Phone")).value
        #expect(phone.owner == "me" && phone.name == "Phone" && phone.revision == "1-fake")
        let changed = try await client.devices.update("phone", GeoDevice.Changes(name: "Old"), revision: "1-fake")
        #expect(changed.name == "Old" && changed.kind == .mobile)
        await #expect(throws: GeomatchError.self) { try await client.devices.update("phone", .init(), revision: "1-fake") }
        let results = try await client.devices.create([.mobile(id: "phone"), .mobile(id: "tag")])
        #expect(results.map { (try? $0.get())?.id } == [nil, "tag"])
        #expect(try await client.devices.list(limit: 1).next == "phone")
        #expect(try await client.devices.list(limit: 1, after: "phone").objects.map(\.id) == ["tag"])
        _ = try await client.publications.create(
            GeoPublication.Draft(on: "tag", topic: "t", range: 5, duration: .seconds(60), id: "p")
        ).value
        try await client.devices.delete("tag")
        do {
            _ = try await client.publications.get("p")
            Issue.record("it went with its device")
        } catch {
            #expect(error.kind == .notFound && error.code == 404)
        }
        #expect(fake.requests.first?.name == "device/create" && fake.requests.first?.client == "me")
        await client.close()
    }

    @Test("Circumstances are registered, replaced, disabled, listed and unregistered")
    func circumstances() async throws {
        let fake = GeomatchFake(dataset: "demo")
        let client = try fake.client("me")
        try await client.circumstances.register(GeoCircumstance.Draft(id: "coffee", "(moving)", on: .departing))
        let coffee = try await client.circumstances.register(GeoCircumstance.Draft(id: "coffee", "(not (moving))", on: .arriving))
        #expect(coffee.expression == "(not (moving))" && coffee.trigger == .arriving && coffee.isEnabled)
        #expect(coffee.revision == "2-fake" && coffee.createdAt != nil && coffee.owner == "me")
        let other = try fake.client("you")
        await #expect(throws: GeomatchError.self) {
            try await other.circumstances.register(GeoCircumstance.Draft(id: "coffee", "(moving)"))
        }
        await other.close()
        #expect(try await client.circumstances.disable("coffee").isEnabled == false)
        #expect(try await client.circumstances.enable("coffee").isEnabled)
        #expect(try await client.circumstances.list().objects.map(\.id) == ["coffee"])
        try await client.circumstances.unregister("coffee")
        #expect(try await client.circumstances.list().objects.isEmpty)
        await client.close()
    }

    @Test("A live subscription has what is known first, then what is published by its criteria, and what is cleared")
    func live() async throws {
        let fake = GeomatchFake(dataset: "demo")
        let (known, other) = (
            LiveUpdateTopic(dataset: "demo", venue: "hq", room: "1", domain: .occupancy),
            LiveUpdateTopic(dataset: "demo", venue: "annex", room: "1", domain: .occupancy)
        )
        fake.publish(["nrOfPeople": 3], on: known)
        let manager = try LiveDataManager(fake.configuration(of: "me"))
        let updates = manager.updates
        let subscription = try await manager.subscribe(to: LiveCriteria().venue("hq"))
        #expect(try await updates.next()?.properties["nrOfPeople"] == 3)
        fake.publish(["nrOfPeople": 9], on: other)
        // As a device would.
        let device = try fake.client("sensor")
        try await device.publish(["nrOfPeople": 4], on: known)
        #expect(try await updates.next()?.properties["nrOfPeople"] == 4)
        fake.clear(known)
        #expect(try await updates.next()?.hasLeft == true)
        try await manager.unsubscribe(subscription)
        await device.close()
    }

    @Test("Matches and events come when a test says so, and answers are what it says")
    func events() async throws {
        let fake = GeomatchFake(dataset: "demo")
        let client = try fake.client("me")
        _ = try await client.devices.create(.mobile(id: "phone")).value
        _ = try await client.publications.create(
            GeoPublication.Draft(on: "phone", topic: "t", range: 5, duration: .seconds(60), id: "p")
        ).value
        _ = try await client.subscriptions.create(
            GeoSubscription.Draft(on: "phone", topic: "t", range: 5, duration: .seconds(60), id: "s")
        ).value
        let monitor = MatchMonitor(client)
        let matches = monitor.matches
        let before = try fake.match(publication: "p", subscription: "s", distance: 7)
        try await monitor.start("phone")
        let first = try #require(try await matches.next())
        #expect(first.id == before && first.distance?.value == 7)
        let after = try fake.match(publication: "p", subscription: "s")
        #expect(try await matches.next()?.id == after)

        let geofences = client.geofenceEvents
        let events = geofences.events
        fake.answer("geofence/inside") { request throws(GeomatchError) in
            guard request.parameters["id"] == "home" else { throw GeomatchError(.notFound, "no", code: 404) }
            return ["devices": [["deviceId": "phone", "since": 1000]]]
        }
        #expect(
            try await client.geofences.inside("home").first == .init(deviceID: "phone", since: Date(timeIntervalSince1970: 1)))
        fake.send(
            ["id": "e", "event": "entered", "geofence": "home", "deviceId": "phone", "visit": "e"], to: "me", on: "geofence/home")
        #expect(try await events.next()?.kind == .entered)
        await client.close()
    }

    @Test("Places, structure and geofences are typed")
    func typed() async throws {
        let fake = GeomatchFake(dataset: "demo")
        fake.answer("place/list") { _ throws(GeomatchError) in
            [
                "places": [["id": "cafe", "latitude": 43.7, "longitude": 7.4, "categoryIds": ["food"], "name": "Café"]],
                "next": "cafe",
            ]
        }
        fake.answer("place/candidates") { _ throws(GeomatchError) in
            ["candidates": [["place_id": "cafe", "probability": 0.75, "name": nil]]]
        }
        fake.answer("structure/list") { _ throws(GeomatchError) in
            [
                "objects": [
                    ["level": "room", "id": "1", "parents": ["venue": "hq", "floor": "0"], "name": "Oak", "capacity": 8]
                ]
            ]
        }
        let client = try fake.client("me")
        let page = try await client.places.list(
            within: .circle(latitude: 43.7, longitude: 7.4, radius: 500), categoryID: "food", limit: 1)
        #expect(page.next == "cafe" && page.objects.first?.categoryIDs == ["food"] && page.objects.first?.name == "Café")
        #expect(fake.requests.last?.parameters["within"]?["circle"]?["radius"]?.doubleValue == 500)
        let candidates = try await client.places.candidates(at: GeoLocation(latitude: 1, longitude: 2, horizontalAccuracy: 5))
        #expect(candidates.map(\.id) == ["cafe"] && candidates.first?.probability == 0.75 && candidates.first?.name == nil)
        let rooms = try await client.structure.list(.room, in: [.venue: "hq"])
        #expect(rooms.objects.first?.parents == [.venue: "hq", .floor: "0"] && rooms.objects.first?.capacity == 8)
        #expect(fake.requests.last?.parameters["parents"] == ["venue": "hq"])
        let home = try await client.geofences.create(
            GeoGeofence.Draft(.fixed(.circle(latitude: 43.7, longitude: 7.4, radius: 100)), id: "home", dwell: .seconds(60))
        ).value
        #expect(home.area["circle"]?["radius"]?.doubleValue == 100 && home.members["dwell"]?.doubleValue == 60)
        #expect(try await client.geofences.list().objects.map(\.id) == ["home"])
        await client.close()
    }
}
