import Foundation
import Testing
import struct Wire.JSONObject
import enum Wire.JSONValue

@testable import GeomatchClient

@Suite("Live data", .timeLimit(.minutes(5)))
struct LiveDataTests {
    @Test("The first subscription connects, the last one to end disconnects, and everything is reported in order")
    func lifecycle() async throws {
        try await withDaemon { broker, daemon in
            daemon.update("museum/v/-/2/-/guide/position", #"{"latitude":43.5,"longitude":7.5}"#)
            let manager = try LiveDataManager(broker.configuration())
            let events = manager.events
            #expect(manager.state == .closed)
            #expect(manager.subscriptions.isEmpty)

            let first = try await manager.subscribe(to: LiveCriteria().venue("v").domain(.position))
            #expect(manager.state == .connected)
            let second = try await manager.subscribe(to: LiveCriteria().domain(.occupancy))
            #expect(manager.subscriptions == [first, second])
            try await manager.unsubscribe(first)
            #expect(manager.state == .connected)
            try await manager.unsubscribe(second)
            #expect(manager.subscriptions.isEmpty)

            let reported = await lines(events, count: 10)
            #expect(
                reported.filter { !$0.hasPrefix("received") } == [
                    "connecting", "connected", "subscribed", "subscribed", "unsubscribed", "unsubscribed", "disconnecting",
                    "closed",
                ])
            #expect(reported.count { $0 == "received guide" } == 2)

            // And once more from the beginning.
            try await manager.subscribe(to: LiveCriteria())
            #expect(manager.state == .connected)
        }
    }

    @Test("Criteria go out as the contract has them")
    func criteriaOnTheWire() async throws {
        try await withDaemon { broker, daemon in
            let manager = try LiveDataManager(broker.configuration())
            try await manager.subscribe(
                to: LiveCriteria(dataset: "museum").venue("v").floor("2").domain("Position").where("speed > 1")
                    .within(.circle(latitude: 1, longitude: 2, radius: 30)).minInterval(.seconds(1.5)).delivery(.atLeastOnce))
            var parameters = await daemon.request("live/subscribe").parameters
            #expect(parameters["id"]?.asString?.isEmpty == false)
            parameters["id"] = nil
            parameters["requestId"] = nil
            let expected: JSONObject = [
                "criteria": ["dataset": "museum", "venue": "v", "floor": "2", "domain": "position"],
                "where": "speed > 1", "within": ["circle": ["latitude": 1.0, "longitude": 2.0, "radius": 30.0]],
                "lease": 3600, "qos": 1, "snapshot": true, "minInterval": 1500,
            ]
            #expect(PropertyValue(.object(parameters)).numbers == PropertyValue(.object(expected)).numbers)
        }
    }

    @Test("Two consumers get every update, one that came late what comes after it")
    func consumers() async throws {
        try await withDaemon { broker, daemon in
            let manager = try LiveDataManager(broker.configuration())
            let early = manager.updates
            let subscription = try await manager.subscribe(to: LiveCriteria())
            daemon.update("museum/v/-/-/desk/-/availability", #"{"available":false}"#)
            let update = try #require(try await early.next())
            #expect(update.value == .availability(false))
            #expect(update.subscriptionID == subscription.id)
            let late = manager.updates
            daemon.update("museum/v/-/-/desk/-/availability", #"{"available":true}"#)
            #expect(try await early.next()?.value == .availability(true))
            #expect(try await late.next()?.value == .availability(true))
            #expect(manager.current(of: subscription).map(\.value) == [.availability(true)])
            manager.close()
            #expect(try await early.next() == nil)
            #expect(try await late.next() == nil)
        }
    }

    @Test("A subscription error says where, is not tried again, and leaves the others alone")
    func subscriptionError() async throws {
        try await withDaemon { broker, daemon in
            let manager = try LiveDataManager(broker.configuration())
            let events = manager.events
            let good = try await manager.subscribe(to: LiveCriteria().venue("good"))
            daemon.answer(
                "live/subscribe",
                .error(["code": 400, "error": "invalid", "message": "no", "field": "where", "position": 4]))
            let error = await failure { () throws(GeomatchError) in
                try await manager.subscribe(to: LiveCriteria().venue("bad").where("a = = 1"))
            }
            #expect(error == GeomatchError(.invalid, "no", code: 400, field: "where", position: 4))
            #expect(manager.subscriptions == [good])
            #expect(manager.state == .connected)
            _ = await events.first { line($0) == "subscription failed: invalid" }

            // Only what had succeeded comes again after the connection was lost.
            broker.kill()
            _ = await events.first { line($0) == "closed" }
            try broker.start()
            _ = await daemon.isReady()
            // A request whose reply takes long is sent again under its id.
            let first = await daemon.request("live/subscribe")
            var again = await daemon.request("live/subscribe")
            while !again.name.isEmpty, again.parameters["id"]?.asString != good.id || again.id == first.id {
                again = await daemon.request("live/subscribe")
            }
            #expect(again.parameters["id"]?.asString == good.id)
            _ = await events.first { line($0) == "connected" }
            try await manager.unsubscribe(good)
            #expect(daemon.timesCarriedOut("live/subscribe") == 3)
        }
    }

    @Test("A subscription that is refused after a reconnection ends with an error and is not tried again")
    func refusedAgain() async throws {
        try await withDaemon { broker, daemon in
            let manager = try LiveDataManager(broker.configuration())
            let events = manager.events
            try await manager.subscribe(to: LiveCriteria())
            daemon.answer("live/subscribe", .error(["code": 404, "error": "unknownDataset", "message": "gone"]))
            broker.kill()
            try broker.start()
            let failed = await events.first { line($0) == "subscription failed: unknownDataset" }
            #expect(failed != nil)
            _ = await events.first { line($0) == "closed" }
            #expect(manager.subscriptions.isEmpty)
        }
    }

    @Test("After the broker was killed the state comes anew, and what is gone is reported as left")
    func brokerRestart() async throws {
        try await withDaemon { broker, daemon in
            let manager = try LiveDataManager(broker.configuration())
            let events = manager.events
            daemon.update("museum/v/-/2/-/stays/position", #"{"latitude":1,"longitude":1}"#)
            daemon.update("museum/v/-/2/-/goes/position", #"{"latitude":2,"longitude":2}"#)
            let subscription = try await manager.subscribe(to: LiveCriteria())
            #expect(
                await lines(events, count: 5).sorted() == [
                    "connected", "connecting", "received goes", "received stays", "subscribed",
                ])
            broker.kill()
            #expect(await lines(events, count: 3) == ["closed", "connecting", "failed: connectionLost"])
            daemon.forget("museum/v/-/2/-/goes/position")
            try broker.start()
            let rest = BufferedSequence(mailbox: events.mailbox)
            _ = await rest.first { line($0) == "connected" }
            #expect(await lines(rest, count: 2) == ["received stays", "received goes left"])
            #expect(manager.subscriptions == [subscription])
            #expect(manager.current(of: subscription).map(\.itemID) == ["stays"])
            daemon.update("museum/v/-/2/-/comes/position", #"{"latitude":3,"longitude":3}"#)
            #expect(await lines(rest, count: 1) == ["received comes"])
        }
    }

    @Test("Another instance of the daemon is sent the subscriptions again while the connection is open")
    func daemonRestart() async throws {
        try await withBroker { broker in
            let first = try FakeDaemon(broker)
            await first.isReady()
            let manager = try LiveDataManager(broker.configuration())
            let events = manager.events
            let subscription = try await manager.subscribe(to: LiveCriteria())
            first.update("museum/v/-/2/-/old/position", #"{"latitude":1,"longitude":1}"#)
            _ = await events.first { line($0) == "received old" }
            first.end()
            let second = try FakeDaemon(broker, instance: "second")
            defer { second.end() }
            let request = await second.request("live/subscribe")
            #expect(request.parameters["id"]?.asString == subscription.id)
            #expect(await events.first { line($0).hasPrefix("received") }.map(line) == "received old left")
            second.update("museum/v/-/2/-/new/position", #"{"latitude":1,"longitude":1}"#)
            #expect(await events.next().map(line) == "received new")
            #expect(manager.state == .connected)
        }
    }

    @Test("A lease is renewed in time, and one that ran out is taken again")
    func leases() async throws {
        try await withDaemon { broker, daemon in
            var configuration = broker.configuration()
            configuration.leaseSeconds = 1
            let manager = try LiveDataManager(configuration)
            let subscription = try await manager.subscribe(to: LiveCriteria())
            #expect(await daemon.request("live/subscribe").parameters["lease"] == 1)
            daemon.answer(
                "live/renew", .result(["id": .string(subscription.id)]),
                .error(["code": 404, "error": "notFound", "message": "its lease ended"]))
            #expect(await daemon.request("live/renew").parameters["id"]?.asString == subscription.id)
            _ = await daemon.request("live/renew")
            #expect(await daemon.request("live/subscribe").parameters["id"]?.asString == subscription.id)
            #expect(manager.subscriptions == [subscription])
        }
    }

    @Test("An unsubscription that the daemon refuses leaves the subscription standing")
    func unsubscriptionError() async throws {
        try await withDaemon { broker, daemon in
            let manager = try LiveDataManager(broker.configuration())
            let events = manager.events
            let subscription = try await manager.subscribe(to: LiveCriteria())
            daemon.answer("live/unsubscribe", .error(["code": 500, "error": "internal", "message": "disk full"]))
            let error = await failure { () throws(GeomatchError) in try await manager.unsubscribe(subscription) }
            #expect(error?.kind == .internal)
            _ = await events.first { line($0) == "unsubscription failed: internal" }
            #expect(manager.subscriptions == [subscription])
            try await manager.unsubscribeAll()
            #expect(manager.subscriptions.isEmpty)
        }
    }

    @Test("A subscription whose filter the broker refuses is a subscription error; the connection stands")
    func filterRefused() async throws {
        try await withDaemon { broker, _ in
            let manager = try LiveDataManager(broker.configuration())
            let kept = try await manager.subscribe(to: LiveCriteria().venue("kept"))
            let lost = try await manager.subscribe(to: LiveCriteria().venue("lost"))
            let events = manager.events
            // mosquitto grants what its access list denies and then passes nothing, so the refusal is put in by hand.
            manager.client.session.change { core in
                core.filtersAsked[4711] = [core.topics.live(lost.id)]
                core.subscribed(4711, [0x87])
            }
            #expect(await events.next().map(line) == "subscription failed: topicRefused")
            #expect(manager.subscriptions == [kept])
            #expect(manager.state == .connected)
        }
    }

    @Test("What does not follow the contract is reported as an error and breaks nothing")
    func malformed() async throws {
        try await withDaemon { broker, daemon in
            let manager = try LiveDataManager(broker.configuration())
            let events = manager.events
            let subscription = try await manager.subscribe(to: LiveCriteria())
            _ = await events.first { line($0) == "subscribed" }
            let topic = "geomatch/museum/app/live/\(subscription.id)"
            for payload in ["", "rubbish", "[]", #"{"topic":"a/b"}"#, #"{"topic":"museum/-/-/-/-/x/count"}"#] {
                daemon.tell(topic, payload)
                #expect(await events.next().map(line) == "failed: malformed")
            }
            daemon.update("museum/v/-/-/-/x/count", #"{"count":3}"#)
            #expect(await events.next().map(line) == "received x")
        }
    }

    @Test("A delegate is notified of the same, in order")
    func delegate() async throws {
        try await withDaemon { broker, daemon in
            let delegate = Recorder()
            let manager = try LiveDataManager(broker.configuration())
            manager.delegate = delegate
            let subscription = try await manager.subscribe(to: LiveCriteria())
            daemon.update("museum/v/-/-/-/x/count", #"{"count":3}"#)
            try await manager.unsubscribe(subscription)
            var reported: [String] = []
            while reported.last != "closed", let next = await delegate.reported.next() { reported.append(next) }
            #expect(
                reported.filter { $0 != "received x" } == [
                    "connecting", "connected", "subscribed", "unsubscribed", "disconnecting", "closed",
                ])
        }
    }

    @Test("Letting a manager go ends its connection and its sequences")
    func letGo() async throws {
        try await withDaemon { broker, _ in
            let client = try GeomatchClient(broker.configuration())
            let states = client.connectionStates
            var manager: LiveDataManager? = LiveDataManager(client)
            let updates = try #require(manager).updates
            try await manager?.subscribe(to: LiveCriteria())
            manager = nil
            #expect(try await updates.next() == nil)
            #expect(await states.first { $0 == .closed } == .closed)
        }
    }

    @Test("A snapshot is fetched page after page")
    func snapshot() async throws {
        try await withDaemon { broker, daemon in
            func update(_ id: String) -> JSONValue {
                [
                    "topic": .string("museum/-/-/-/-/\(id)/count"), "domainType": "count", "itemId": .string(id),
                    "timestamp": 1, "receivedAt": 2, "properties": ["count": 1],
                ]
            }
            daemon.answer(
                "live/snapshot", .result(["updates": [update("a"), update("b")], "next": "b"]),
                .result(["updates": [update("c")]]))
            let client = try GeomatchClient(broker.configuration())
            let updates = try await client.snapshot(of: LiveCriteria().domain(.count))
            #expect(updates.map(\.itemID) == ["a", "b", "c"])
            #expect(await daemon.request("live/snapshot").parameters["after"] == nil)
            #expect(await daemon.request("live/snapshot").parameters["after"] == "b")
            await client.close()
        }
    }
}

/// A delegate that notes what it is notified of.
private final class Recorder: LiveDataManagerDelegate {
    let reported = Mailbox<String, Never>(capacity: 1000)

    func liveDataManager(_ manager: LiveDataManager, didReceive update: LiveUpdate) { reported.send("received \(update.itemID)") }
    func liveDataManager(_ manager: LiveDataManager, didChange state: ConnectionState) { reported.send("\(state)") }
    func liveDataManager(_ manager: LiveDataManager, didSubscribe subscription: LiveSubscription) { reported.send("subscribed") }
    func liveDataManager(_ manager: LiveDataManager, didUnsubscribe subscription: LiveSubscription) {
        reported.send("unsubscribed")
    }
}
