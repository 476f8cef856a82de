import Foundation
import Testing
import struct Wire.JSONObject
import enum Wire.JSONValue

@testable import GeomatchClient

@Suite("Matches", .timeLimit(.minutes(5)))
struct MatchMonitorTests {
    static func match(_ id: String) -> JSONValue {
        [
            "id": .string(id), "event": "matched", "createdAt": 1000, "distance": 41.5,
            "publication": [
                "id": "p", "deviceId": "cafe", "topic": "coffee", "range": 50,
                "properties": ["price": 3], "location": ["latitude": 1.0, "longitude": 2.0],
            ],
            "subscription": ["id": "s", "deviceId": "phone", "topic": "coffee", "range": 50],
        ]
    }

    static func list(_ ids: [String]) -> FakeDaemon.Answer { .result(["matches": .array(ids.map { match($0) })]) }

    static func tell(_ daemon: FakeDaemon, _ id: String, device: String = "phone") {
        daemon.tell("geomatch/museum/app/match/\(device)/s", String(decoding: match(id).serialised(), as: UTF8.self))
    }

    @Test("What the daemon has comes first, then each new match, each id once")
    func catchUp() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let monitor = MatchMonitor(client)
            let matches = monitor.matches
            daemon.answer("match/list", Self.list(["1", "2"]))
            try await monitor.start("phone")
            for id in ["2", "3", "3", "4"] { Self.tell(daemon, id) }
            for id in ["1", "2", "3", "4"] { #expect(try await matches.next()?.id == id) }
            let newest = try #require(monitor.recent.last)
            #expect(monitor.recent.map(\.id) == ["1", "2", "3", "4"])
            #expect(newest.distance == Measurement(value: 41.5, unit: .meters))
            #expect(newest.publication.location?.longitude == 2 && newest.publication.properties == ["price": 3])
            #expect(monitor.devices == ["phone"])
            await client.close()
            #expect(try await matches.next() == nil)
        }
    }

    @Test("What was missed with the connection is fetched, in order and without duplicates")
    func reconnect() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let monitor = MatchMonitor(client)
            let matches = monitor.matches
            let events = monitor.events
            daemon.answer("match/list", Self.list(["1"]), Self.list(["1", "2", "3"]))
            try await monitor.start("phone")
            broker.kill()
            _ = await events.first { if case .stateChanged(.closed) = $0 { true } else { false } }
            try broker.start()
            await daemon.isReady()
            for id in ["1", "2", "3"] { #expect(try await matches.next()?.id == id) }
            Self.tell(daemon, "3")
            Self.tell(daemon, "4")
            #expect(try await matches.next()?.id == "4")
            await client.close()
        }
    }

    @Test("More matches than the daemon keeps are reported as missed")
    func missed() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let monitor = MatchMonitor(client)
            let events = monitor.events
            daemon.answer("match/list", Self.list(["0"]), Self.list((1...100).map(String.init)))
            try await monitor.start("phone")
            broker.kill()
            try broker.start()
            let missed = await events.first { if case .missed("phone") = $0 { true } else { false } }
            #expect(missed != nil)
            _ = await events.first { if case .matched(let match) = $0 { match.id == "100" } else { false } }
            #expect(monitor.recent.map(\.id) == (1...100).map(String.init))
            await client.close()
        }
    }

    @Test("A device that is not there is an error; others go on")
    func refused() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let monitor = MatchMonitor(client)
            try await monitor.start("phone")
            daemon.answer("match/list", .error(["code": 404, "error": "notFound", "message": "no device", "field": "deviceId"]))
            let error = await failure { () throws(GeomatchError) in try await monitor.start("nobody") }
            #expect(error?.kind == .notFound)
            #expect(monitor.devices == ["phone"])
            monitor.stop("phone")
            #expect(monitor.devices.isEmpty)
            await client.close()
        }
    }

    @Test("The device with a slash in its id is monitored on its encoded topic")
    func encodedDevice() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let monitor = MatchMonitor(client)
            let matches = monitor.matches
            try await monitor.start("a/é")
            Self.tell(daemon, "1", device: "a%2Fé")
            #expect(try await matches.next()?.id == "1")
            await client.close()
        }
    }

    @Test("A delegate is notified of matches and of the rest")
    func delegate() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let monitor = MatchMonitor(client)
            let delegate = Recorder()
            monitor.delegate = delegate
            daemon.answer("match/list", Self.list(["1"]))
            try await monitor.start("phone")
            let reported = [await delegate.reported.next(), await delegate.reported.next(), await delegate.reported.next()]
            #expect(reported == ["connecting", "connected", "1"])
            await client.close()
        }
    }

    @Test("The main device is created once, remembered in the file, and created anew where it was deleted")
    func mainDevice() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let file = URL(fileURLWithPath: broker.folder).appendingPathComponent("device.json")
            daemon.answer("device/create", .result(["id": "made-1"]), .result(["id": "made-2"]))
            #expect(try await MainDevice.start(client, file: file).id == "made-1")
            #expect(try await MainDevice.start(client, file: file).id == "made-1")
            daemon.answer("device/get", .error(["code": 404, "error": "notFound", "message": "deleted"]))
            #expect(try await MainDevice.start(client, file: file).id == "made-2")
            #expect(try await MainDevice.start(client, file: file, adopting: "other").id == "other")
            #expect(try await MainDevice.start(client, file: file).id == "other")
            daemon.answer("device/get", .error(["code": 404, "error": "notFound", "message": "no device"]))
            let error = await failure { () throws(GeomatchError) in
                try await MainDevice.start(client, file: file, adopting: "nobody")
            }
            #expect(error?.kind == .notFound)
            #expect(daemon.timesCarriedOut("device/create") == 2)

            try "rubbish".write(to: file, atomically: true, encoding: .utf8)
            let unreadable = await failure { () throws(GeomatchError) in try await MainDevice.start(client, file: file) }
            #expect(unreadable?.kind == .file)
            #expect(try String(contentsOf: file, encoding: .utf8) == "rubbish")
            await client.close()
        }
    }

    @Test("A location is sent unless it is the one sent last, and again where sending failed")
    func location() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let file = URL(fileURLWithPath: broker.folder).appendingPathComponent("device.json")
            let phone = try await MainDevice.start(client, file: file, or: .mobile(id: "phone"))
            let here = GeoLocation(latitude: 1, longitude: 2)
            #expect(try await phone.update(here))
            #expect(try await !phone.update(GeoLocation(latitude: 1, longitude: 2, horizontalAccuracy: 5)))
            daemon.answer("device/update", .error(["code": 500, "error": "internal", "message": "disk full"]))
            let there = GeoLocation(latitude: 1, longitude: 3)
            #expect(await failure { () throws(GeomatchError) in try await phone.update(there) }?.kind == .internal)
            #expect(try await phone.update(there))
            #expect(daemon.timesCarriedOut("device/update") == 3)
            await client.close()
        }
    }
}

private final class Recorder: MatchMonitorDelegate {
    let reported = Mailbox<String, Never>(capacity: 100)

    func matchMonitor(_ monitor: MatchMonitor, didFind match: GeoMatch) { reported.send(match.id) }
    func matchMonitor(_ monitor: MatchMonitor, didNotice event: MatchEvent) {
        if case .stateChanged(let state) = event { reported.send("\(state)") }
    }
}
