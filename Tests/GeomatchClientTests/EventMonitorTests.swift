import Foundation
import Testing

@testable import GeomatchClient

@Suite("Events", .timeLimit(.minutes(5)))
struct EventMonitorTests {
    private static let incident = #"""
        {"incidentId":"1","circumstanceId":"coffee","name":null,"tags":["a"],"when":"arriving","deviceId":"phone",
         "atPlaces":[{"id":"cafe","name":"Café","categoryIds":["amenity=cafe"],"distance":7.5,"latitude":1,"longitude":2}],
         "nearPlaces":[],"location":{"latitude":1.5,"longitude":2.5},"timestamp":1000}
        """#

    @Test("Events of circumstances come to each monitor, each id once, and end with the monitor")
    func circumstances() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let (first, second) = (client.circumstanceEvents, client.circumstanceEvents)
            let (events, others) = (first.events, second.events)
            // A reply comes behind the subscription.
            daemon.answer("dataset/get", .result([:]))
            _ = try await client.request("dataset/get")
            for _ in 0..<2 { daemon.tell("geomatch/museum/app/circumstance/coffee", Self.incident) }
            daemon.tell("geomatch/museum/app/circumstance/coffee", "{}")
            daemon.tell(
                "geomatch/museum/app/circumstance/coffee",
                Self.incident.replacing(#""incidentId":"1""#, with: #""incidentId":"2""#))
            let event = try #require(try await events.next())
            #expect(event.id == "1" && event.circumstanceID == "coffee" && event.deviceID == "phone" && event.isArriving)
            #expect(event.tags == ["a"] && event.name == nil && event.location?.latitude == 1.5)
            #expect(event.timestamp == Date(timeIntervalSince1970: 1))
            #expect(event.atPlaces.map(\.id) == ["cafe"] && event.atPlaces[0].distance == Measurement(value: 7.5, unit: .meters))
            #expect(try await events.next()?.id == "2")
            #expect(try await others.next()?.id == "1")
            first.close()
            #expect(try await events.next() == nil)
            daemon.tell(
                "geomatch/museum/app/circumstance/coffee",
                Self.incident.replacing(#""incidentId":"1""#, with: #""incidentId":"3""#))
            #expect(try await others.next()?.id == "2")
            #expect(try await others.next()?.id == "3")
            second.close()
            await client.close()
        }
    }

    @Test("Events of beacons say who sees which")
    func beacons() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            let monitor = client.beaconEvents
            let events = monitor.events
            daemon.answer("dataset/get", .result([:]))
            _ = try await client.request("dataset/get")
            daemon.tell(
                "geomatch/museum/app/beacon/gallery",
                #"{"event":"entered","deviceId":"phone","proximityUUID":"U","major":1,"timestamp":2000}"#)
            let event = try #require(try await events.next())
            #expect(event.hasEntered && event.deviceID == "phone" && event.major == 1 && event.minor == nil)
            await client.close()
            #expect(try await events.next() == nil)
        }
    }

    @Test("What applications show of an error is its sentence")
    func localised() {
        let error: any Error = GeomatchError(.invalid, "`range` must be from 1 to 5000 metres, not 0", code: 400, field: "range")
        #expect(error.localizedDescription == "`range` must be from 1 to 5000 metres, not 0")
    }
}
