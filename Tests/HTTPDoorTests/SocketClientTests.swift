import GeomatchClient
import Testing
import Wire

@testable import HTTPDoor

@Suite("GeomatchClient over the daemon's socket")
struct SocketClientTests {
    private func configuration(_ house: HTTPHouse, _ user: String = "", dataset: String = "d") -> GeomatchConfiguration {
        var configuration = GeomatchConfiguration(
            broker: "http://\(user)127.0.0.1:\(house.port)", dataset: dataset, client: user.isEmpty ? "me" : nil)
        configuration.requestTimeout = .seconds(8)
        return configuration
    }

    @Test("Requests are answered, errors are thrown, and live data comes and goes on")
    func requests() async throws {
        try await withHTTP { house in
            let client = try GeomatchClient(configuration(house))
            let made = try await client.request("device/create", parameters: ["deviceType": "MobileDevice", "id": "phone"])
            #expect(made["owner"] == "me")
            let failure = await #expect(throws: GeomatchError.self) {
                try await client.request("device/get", parameters: ["id": "nobody"])
            }
            #expect(failure?.kind == .notFound && failure?.code == 404)
            let manager = LiveDataManager(client)
            let events = manager.events
            try await manager.subscribe(to: LiveCriteria())
            let connection = try Connection(to: house.port)
            let moved = try connection.ask("POST", "/api/d/live/-/-/-/-/phone/position", #"{"lat":43.73,"lon":7.42}"#)
            #expect(moved.status == 200, "\(moved)")
            for await event in events {
                guard case .received(let update) = event else { continue }
                #expect(update.topic.location == "phone")
                break
            }
            await client.close()
        }
    }

    @Test("A live update is published, cleared and refused over the socket, and other topics are not")
    func updates() async throws {
        try await withHTTP { house in
            let client = try GeomatchClient(configuration(house))
            _ = try await client.request("device/create", parameters: ["deviceType": "MobileDevice", "id": "phone"])
            let topic = LiveUpdateTopic(dataset: "d", location: "phone", domain: .position)
            try await client.publish(["latitude": 43.73, "longitude": 7.42], on: topic)
            let device = try await client.request("device/get", parameters: ["id": "phone"])
            #expect(device["location"] != nil)
            let failure = await #expect(throws: GeomatchError.self) {
                try await client.publish(["latitude": 143.73, "longitude": 7.42], on: topic)
            }
            #expect(failure?.kind == .invalid && failure?.code == 400, "\(String(describing: failure))")
            try await client.publish(topic: topic.encoded, payload: [], qos: 1, retain: false)
            let cleared = try await client.request("device/get", parameters: ["id": "phone"])
            #expect(cleared["location"] == nil)
            let other = LiveUpdateTopic(dataset: "other", location: "phone", domain: .position)
            let refusal = await #expect(throws: GeomatchError.self) { try await client.publish(["latitude": 1], on: other) }
            #expect(refusal?.kind == .topicRefused, "\(String(describing: refusal))")
            await client.close()
        }
    }

    @Test("A key names the client, and a wrong one is refused")
    func keys() async throws {
        try await withHTTP({
            $0.trustsLoopback = false
            $0.keys = [FileKey(key: "museum-key", dataset: "museum", client: "ann")]
        }) { house in
            let client = try GeomatchClient(configuration(house, "ann:museum-key@", dataset: "museum"))
            let made = try await client.request("device/create", parameters: ["deviceType": "MobileDevice"])
            #expect(made["owner"] == "ann")
            await client.close()
            let stranger = try GeomatchClient(configuration(house, "ann:wrong-key@", dataset: "museum"))
            let failure = await #expect(throws: GeomatchError.self) { try await stranger.request("device/list") }
            #expect(failure?.kind == .refused, "\(String(describing: failure))")
            await stranger.close()
        }
    }

    @Test("A socket that the daemon closes is opened again, and requests go on")
    func reconnection() async throws {
        try await withHTTP { house in
            let client = try GeomatchClient(configuration(house))
            _ = try await client.request("device/create", parameters: ["deviceType": "MobileDevice", "id": "phone"])
            _ = await house.door.onCore { $0.endStreams() }
            let again = try await client.request("device/get", parameters: ["id": "phone"])
            #expect(again["id"] == "phone")
            await client.close()
        }
    }
}
