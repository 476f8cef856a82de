import Foundation
import Loopback
import Testing
import struct Wire.JSONObject

@testable import GeomatchClient

@Suite("Requests", .timeLimit(.minutes(5)))
struct RequestTests {
    @Test("Any request goes out with its parameters and comes back with its result")
    func anyRequest() async throws {
        try await withDaemon { broker, daemon in
            try await withGeomatchClient(broker.configuration()) { client in
                daemon.answer("dataset/get", .result(["id": "museum", "policy": "strict", "domains": ["position"]]))
                let dataset = try await client.dataset.get()
                #expect(dataset.isStrict && dataset.domains == [.position])
                let result = try await client.request("thing/do", parameters: ["deep": ["a": [1, 2.5, nil, true]]])
                #expect(result["deep"] == ["a": [1, 2.5, nil, true]])
                #expect(client.isDaemonOnline == true)
            }
        }
    }

    @Test("A connection that cannot even be begun left its request waiting for ever")
    func unopened() async throws {
        var configuration = GeomatchConfiguration(broker: "mqtts://127.0.0.1:1", dataset: "d", client: "c")
        configuration.tls = GeomatchConfiguration.TLS(caFile: "/no/ca.pem")
        let client = try GeomatchClient(configuration)
        for _ in 1...2 {
            let error = await failure { () throws(GeomatchError) in try await client.devices.get("x") }
            #expect(error?.kind == .invalid && error?.field == "tls", "\(String(describing: error))")
        }
        await client.close()
    }

    @Test("An error reply is thrown with all it says")
    func errorReply() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            daemon.answer(
                "device/get", .error(["code": 404, "error": "notFound", "message": "no device", "field": "id"]),
                .error(["code": 418, "error": "teapot", "message": "new"]), .error([:]))
            #expect(
                await failure { () throws(GeomatchError) in try await client.devices.get("x") }
                    == GeomatchError(.notFound, "no device", code: 404, field: "id"))
            let unknown = await failure { () throws(GeomatchError) in try await client.devices.get("x") }
            #expect(unknown?.kind.rawValue == "teapot" && unknown?.code == 418)
            let empty = await failure { () throws(GeomatchError) in try await client.devices.get("x") }
            #expect(empty?.kind == .malformed)
            await client.close()
        }
    }

    @Test("A request whose reply was lost with the broker is sent again under its id and carried out once")
    func idempotentRetry() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            // Carried out, and the reply does not come through.
            daemon.answer("device/create", .silence)
            async let device = client.devices.create(.mobile(id: "phone")).value
            let first = await daemon.request("device/create")
            broker.kill()
            try broker.start()
            let second = await daemon.request("device/create")
            #expect(first.id == second.id)
            #expect(try await device.id == "phone")
            await client.close()
        }
    }

    @Test("The same request id gives the first reply again, across clients of the same name")
    func ownRequestID() async throws {
        try await withDaemon { broker, daemon in
            for _ in 0..<2 {
                try await withGeomatchClient(broker.configuration()) { client in
                    _ = try await client.request("device/create", parameters: ["id": "a"], requestID: "my-own")
                }
            }
            #expect(daemon.timesCarriedOut("device/create") == 1)
        }
    }

    @Test("Two clients of one name each get their own replies")
    func sameName() async throws {
        try await withDaemon { broker, _ in
            let clients = try (0..<2).map { _ in try GeomatchClient(broker.configuration()) }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for (index, client) in clients.enumerated() {
                    for number in 0..<20 {
                        let id = "\(index)-\(number)"
                        group.addTask { try await client.devices.get(id).id == id }
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            for client in clients { await client.close() }
        }
    }

    @Test("No answer in time is a time-out, and a cancelled wait ends at once")
    func timeoutAndCancellation() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            daemon.neverAnswer("slow/one")
            let error = await failure { () throws(GeomatchError) in
                try await client.request("slow/one", timeout: .milliseconds(100))
            }
            #expect(error?.kind == .timeout)
            let task = Task { await failure { () throws(GeomatchError) in try await client.request("slow/one") } }
            _ = await daemon.request("slow/one")
            _ = await daemon.request("slow/one")
            task.cancel()
            #expect(await task.value?.kind == .cancelled)
            let late = Task { await failure { () throws(GeomatchError) in try await client.request("slow/one") } }
            late.cancel()
            #expect(await late.value?.kind == .cancelled)
            await client.close()
        }
    }

    @Test("A broker that is not there is a time-out that says so")
    func noBroker() async throws {
        var configuration = GeomatchConfiguration(
            broker: "mqtt://127.0.0.1:\(Loopback.freePort())", dataset: "museum", client: "app")
        configuration.requestTimeout = .milliseconds(100)
        let client = try GeomatchClient(configuration)
        let error = await failure { () throws(GeomatchError) in try await client.devices.get("x") }
        #expect(error?.kind == .timeout)
        #expect(error?.message.contains("not reached") == true)
        #expect(client.connectionState == .connecting)
        await client.close()
        #expect(client.connectionState == .closed)
    }

    @Test("Closing fails what waits, and the client can be used again")
    func closing() async throws {
        try await withDaemon { broker, daemon in
            let client = try GeomatchClient(broker.configuration())
            daemon.neverAnswer("slow/one")
            let waiting = Task { await failure { () throws(GeomatchError) in try await client.request("slow/one") } }
            _ = await daemon.request("slow/one")
            await client.close()
            #expect(await waiting.value?.kind == .closed)
            #expect(try await client.devices.get("x").id == "x")
            await client.close()
        }
    }

    @Test("Letting the last reference go closes the connection")
    func letGo() async throws {
        try await withDaemon { broker, _ in
            var client: GeomatchClient? = try GeomatchClient(broker.configuration())
            let states = try #require(client).connectionStates
            _ = try await client?.devices.get("x")
            client = nil
            #expect(await states.first { $0 == .closed } == .closed)
        }
    }

    @Test("Refused credentials end everything with an error instead of a loop")
    func refusedCredentials() async throws {
        try await withBroker(lines: "allow_anonymous false") { broker in
            let manager = try LiveDataManager(broker.configuration(user: "nobody:secret"))
            let events = manager.events
            let updates = manager.updates
            let error = await failure { () throws(GeomatchError) in try await manager.subscribe(to: LiveCriteria()) }
            #expect(error?.kind == .refused)
            #expect(error?.message.contains("secret") == false)
            // Closed is reported when the connection's loop has ended: nothing can come after it.
            #expect(
                await lines(events, count: 5) == [
                    "connecting", "disconnecting", "subscription failed: refused", "failed: refused", "closed",
                ])
            #expect(
                await failure { () throws(GeomatchError) in
                    while try await updates.mailbox.next() != nil {}
                }?.kind == .refused)
            #expect(manager.subscriptions.isEmpty)
        }
    }

    @Test(
        "What cannot be a broker, a dataset or a client is refused before anything happens",
        arguments: [
            ("ftp://127.0.0.1", "museum", "app", "broker"), ("mqtt://", "museum", "app", "broker"),
            ("mqtt://127.0.0.1", "live", "app", "dataset"), ("mqtt://127.0.0.1", "a/b", "app", "dataset"),
            ("mqtt://127.0.0.1", "museum", "", "client"), ("mqtt://127.0.0.1", "museum", "status", "client"),
        ])
    func configuration(broker: String, dataset: String, client: String, field: String) async {
        let error = await failure { () throws(GeomatchError) in
            try GeomatchClient(broker: broker, dataset: dataset, client: client)
        }
        #expect(error?.kind == .invalid)
        #expect(error?.field == field)
    }

    @Test("The client is the user of the broker's address where none is given")
    func clientFromUser() {
        #expect(GeomatchConfiguration(broker: "mqtt://me:x@127.0.0.1", dataset: "museum").client == "me")
    }

    @Test("A broker without a scheme was refused as a client without a name")
    func schemeless() throws {
        let plain = GeomatchConfiguration(broker: "localhost:1883", dataset: "demo", client: "me")
        #expect(try plain.endpoint().host == "localhost" && plain.brokerName == "mqtt://localhost:1883")
        #expect(GeomatchConfiguration(broker: "ann@localhost", dataset: "demo").client == "ann")
        let other = #expect(throws: GeomatchError.self) {
            try GeomatchConfiguration(broker: "ws://localhost", dataset: "demo").endpoint()
        }
        #expect(other?.field == "broker")
        let nameless = #expect(throws: GeomatchError.self) {
            try GeomatchConfiguration(broker: "localhost:1883", dataset: "demo").endpoint()
        }
        #expect(nameless?.field == "client" && nameless?.message.contains("name a client") == true)
    }

    @Test("A live update is published as a device would")
    func publishing() async throws {
        try await withDaemon { broker, _ in
            let client = try GeomatchClient(broker.configuration())
            try await client.publish(
                ["nrOfPeople": 3], on: LiveUpdateTopic(dataset: "museum", venue: "v", room: "a/b", domain: .occupancy))
            await client.close()
        }
    }
}
