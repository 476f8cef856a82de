import Foundation
import Loopback
import Testing

@testable import MQTTLink

@Suite("MQTTLink on a real mosquitto", .serialized, .timeLimit(.minutes(5)))
struct MQTTLinkTests {
    @Test("What is published comes back, in order for each quality, at both qualities and in both versions", arguments: [4, 5])
    func roundTrip(version: Int) throws {
        try withBroker { broker in
            try withLink(broker.endpoint, version: version, filters: [("a/#", 1), ("b/+", 0)]) { link in
                #expect(link.waitSubscribed())
                #expect(link.noted.contains(.connected(sessionPresent: false, version: version)))
                #expect(link.noted.contains(.subscribed([1, 0])))
                for index in 0..<500 { link.publish("a/\(index)", "p\(index)", qos: Int32(index % 2), token: UInt64(index)) }
                #expect(link.wait { _, messages in messages.count == 500 })
                let numbers = link.received.compactMap { Int($0.payload.dropFirst()) }
                #expect(numbers.filter { $0 % 2 == 0 } == Array(stride(from: 0, to: 500, by: 2)))
                #expect(numbers.filter { $0 % 2 == 1 } == Array(stride(from: 1, to: 500, by: 2)))
                #expect(link.wait { events, _ in events.count { $0.token != nil } == 250 })
                #expect(Set(link.noted.compactMap(\.token)) == Set(stride(from: 1, to: 500, by: 2).map(UInt64.init)))
                #expect(link.ask { $0.unacknowledged + $0.queuedMessages } == 0)
            }
        }
    }

    @Test("An empty payload and one of a megabyte come through whole")
    func sizes() throws {
        try withBroker { broker in
            try withLink(broker.endpoint, filters: [("s", 1)]) { link in
                #expect(link.waitSubscribed())
                let large = String(repeating: "x", count: 1 << 20)
                link.publish("s", "")
                link.publish("s", large)
                #expect(link.wait { _, messages in messages.count == 2 })
                #expect(link.received.map(\.payload) == ["", large])
            }
        }
    }

    @Test("Response topic and correlation data arrive with MQTT 5, and correlation goes back")
    func properties() throws {
        try withBroker { broker in
            try withLink(broker.endpoint, filters: [("q", 1)]) { link in
                #expect(link.waitSubscribed())
                try runProgram(
                    "/usr/bin/mosquitto_pub",
                    [
                        "-V", "5", "-p", "\(broker.port)", "-q", "1", "-t", "q", "-m", "m", "-D", "publish", "response-topic",
                        "r/1", "-D", "publish", "correlation-data", "c1",
                    ])
                #expect(link.wait { _, messages in messages.count == 1 })
                #expect(link.received.first?.responseTopic == "r/1")
                #expect(link.received.first?.correlation == Array("c1".utf8))
                link.order {
                    _ = $0.publish(
                        topic: "q", payload: "n".utf8, qos: 1, correlation: [1, 0, 2], messageExpiry: 60)
                }
                #expect(link.wait { _, messages in messages.count == 2 })
                #expect(link.received.last?.correlation == [1, 0, 2])
                #expect(link.received.last?.responseTopic == nil)
            }
        }
    }

    @Test("Publishing says what cannot be published")
    func publishResults() throws {
        try withBroker(lines: { _ in "allow_anonymous true\nmax_packet_size 2000" }) { broker in
            try withLink(broker.endpoint) { link in
                #expect(link.waitConnected())
                func result(_ topic: String, _ bytes: Int) -> MQTTPublishResult? {
                    link.ask { $0.publish(topic: topic, payload: [UInt8](repeating: 1, count: bytes), qos: 1) }
                }
                #expect(result("a/+", 1) == .invalidTopic)
                #expect(result("", 1) == .invalidTopic)
                #expect(result("a\0b", 1) == .invalidTopic)
                #expect(result("a", 3000) == .tooLarge)
                #expect(result("a", 100) == .accepted)
                broker.end(SIGKILL)
                #expect(link.wait { events, _ in events.contains(where: \.isDisconnected) })
                #expect(result("a", 100) == .notConnected)
            }
        }
    }

    @Test("A malformed filter is refused by itself; the others of its subscription stand")
    func malformedFilter() throws {
        try withBroker { broker in
            try withLink(broker.endpoint, filters: [("a/#/b", 0), ("ok/+", 1), ("b+", 1)]) { link in
                #expect(link.wait(for: .subscribed([0x8F, 1, 0x8F])))
                #expect(link.publishAndWait("ok/1", "x") == 0)
                #expect(link.wait { _, messages in messages.count == 1 })
            }
            try withLink(broker.endpoint, filters: [("a/#/b", 0)]) { link in
                #expect(link.wait(for: .subscribed([0x8F])))
            }
        }
    }

    @Test("Thousands of filters are one answer, and end with unsubscribing")
    func manyFilters() throws {
        try withBroker { broker in
            let filters = (0..<3000).map { (filter: "many/\($0)/+", qos: Int32($0 % 2)) }
            try withLink(broker.endpoint, filters: filters) { link in
                #expect(link.wait(for: .subscribed((0..<3000).map { UInt8($0 % 2) })))
                link.order { $0.unsubscribe(filters.map(\.filter)) }
                #expect(link.wait(for: .unsubscribed))
                link.order { $0.subscribe([("end", 0)]) }
                #expect(link.publishAndWait("many/2999/x", "x") != nil)
                link.publish("end", "x")
                #expect(link.wait { _, messages in !messages.isEmpty })
                #expect(link.received.map(\.topic) == ["end"])
            }
        }
    }

    @Test("A refused subscription is reported with its code and the link stays", arguments: [4, 5])
    func refusedSubscription(version: Int) throws {
        let plugin = "/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so"
        try withBroker(lines: { folder in
            let rules = """
                {"defaultACLAccess":{"publishClientSend":true,"publishClientReceive":true,"subscribe":true,"unsubscribe":true},
                "clients":[],"groups":[{"groupname":"all","roles":[{"rolename":"r"}],"clients":[]}],"anonymousGroup":"all",
                "roles":[{"rolename":"r","acls":[{"acltype":"subscribePattern","topic":"closed/#","allow":false}]}]}
                """
            try BrokerFiles.write(rules, to: folder + "/rules.json")
            return "allow_anonymous true\nplugin \(plugin)\nplugin_opt_config_file \(folder)/rules.json"
        }) { broker in
            try withLink(broker.endpoint, version: version, filters: [("open/#", 1), ("closed/#", 1)]) { link in
                #expect(link.wait(for: .subscribed([1, version == 5 ? 0x87 : 0x80])))
                #expect(link.publishAndWait("open/1", "x") == 0)
                #expect(link.wait { _, messages in messages.count == 1 })
                #expect(!link.wasDisconnected)
            }
        }
    }

    @Test("A connection lost between CONNACK and SUBSCRIBE is no refused subscription")
    func lostBeforeSubscribe() throws {
        let broker = FakeBroker { _ in .last([0x20, 3, 0, 0, 0]) }
        defer { broker.end() }
        try withLink(
            MQTTEndpoint(host: "127.0.0.1", port: broker.port), filters: [("a/#", 1), ("b/#", 0)],
            change: { $0.backoffMaximumSeconds = 0.01 }
        ) { link in
            #expect(link.wait { events, _ in events.count(where: \.isDisconnected) >= 20 })
            #expect(link.wasConnected)
            let wasAnswered = link.noted.contains { $0.isSubscribed }
            #expect(!wasAnswered)
        }
    }

    @Test("Refused credentials are reported at each try, at the slow end", arguments: [4, 5])
    func refusedCredentials(version: Int) throws {
        try withBroker(lines: passwords) { broker in
            var endpoint = broker.endpoint
            endpoint.username = "ann"
            endpoint.password = "wrong"
            try withLink(endpoint, version: version) { link in
                #expect(link.wait { events, _ in events.count(where: \.isDisconnected) >= 2 })
                for case .disconnected(.refused(let refusal, let code, let text)) in link.noted {
                    #expect(refusal == .notAuthorised)
                    #expect(code == (version == 5 ? 0x87 : 5))
                    #expect(!text.contains("wrong"))
                }
                #expect(!link.wasConnected)
            }
            endpoint.password = "right"
            try withLink(endpoint, version: version) { #expect($0.waitConnected()) }
        }
    }

    private func passwords(_ folder: String) throws -> String {
        try runProgram("/usr/bin/mosquitto_passwd", ["-b", "-c", folder + "/users", "ann", "right"])
        return "allow_anonymous false\npassword_file \(folder)/users"
    }

    @Test("Nobody there: unreachable, again and again, until somebody is")
    func unreachable() throws {
        try withFolder { folder in
            let broker = TestBroker(folder: folder, lines: "")
            try withLink(MQTTEndpoint(host: "localhost", port: broker.port)) { link in
                #expect(link.wait { events, _ in events.count(where: \.isDisconnected) >= 3 })
                #expect(link.noted.first == .disconnected(.unreachable("Connection refused")))
                try broker.start()
                defer { broker.end(SIGKILL) }
                #expect(link.waitConnected())
            }
        }
    }

    @Test("Of several hosts one that answers is used, at once; where it dies, the next one")
    func severalHosts() throws {
        try withFolder { folder in
            try withFolder { other in
                let (first, second) = (TestBroker(folder: folder, lines: ""), TestBroker(folder: other, lines: ""))
                try first.start()
                defer { first.end(SIGKILL) }
                var endpoint = MQTTEndpoint(host: "no-such-host.invalid")
                endpoint.otherHosts = [first, second].map { MQTTEndpoint.Host(name: "127.0.0.1", port: $0.port) }
                try withLink(endpoint) { link in
                    #expect(link.waitConnected())
                    #expect(!link.wasDisconnected, "a host was waited for that was not needed")
                    try second.start()
                    defer { second.end(SIGKILL) }
                    first.end(SIGKILL)
                    #expect(link.wait { events, _ in events.count(where: \.isConnected) == 2 })
                }
            }
        }
    }

    @Test("A name that does not resolve is reported")
    func unknownHost() throws {
        try withLink(MQTTEndpoint(host: "no-such-host.invalid")) { link in
            #expect(link.wait { events, _ in !events.isEmpty })
            guard case .disconnected(.unreachable(let text)) = link.noted.first else {
                Issue.record("\(link.noted)")
                return
            }
            #expect(text.contains("no-such-host.invalid"))
        }
    }

    @Test("A broker killed under load comes back: reconnected, subscribed again, every token acknowledged", arguments: [4, 5])
    func brokerKilled(version: Int) throws {
        try withBroker { broker in
            try withLink(broker.endpoint, version: version, filters: [("k/#", 1)]) { link in
                #expect(link.waitSubscribed())
                // In one turn of the loop: a message ordered while the end of the connection is noticed would be refused, not lost.
                let accepted = link.ask { link in
                    (0..<2000).count {
                        link.publish(topic: "k/\($0)", payload: "\($0)".utf8, qos: 1, token: UInt64($0)) == .accepted
                    }
                }
                #expect(accepted == 2000)
                #expect(link.wait { events, _ in events.contains { $0.token != nil } })
                broker.end(SIGKILL)
                #expect(link.wait { events, _ in events.contains(where: \.isDisconnected) })
                try broker.start()
                #expect(link.wait { events, _ in events.count(where: \.isSubscribed) == 2 })
                #expect(link.wait { events, _ in Set(events.compactMap(\.token)).count == 2000 })
                #expect(link.ask { $0.unacknowledged } == 0)
                #expect(link.publishAndWait("k/end", "end") == 0)
                #expect(link.wait { _, messages in messages.last?.payload == "end" })
            }
        }
    }

    @Test("A persistent session holds QoS 1 messages while the client is away", arguments: [4, 5])
    func persistentSession(version: Int) throws {
        try withBroker { broker in
            let persistent: (inout MQTTLinkConfiguration) -> Void = { $0.persistentSession = true }
            try withLink(broker.endpoint, id: "keeper", version: version, filters: [("h/#", 1)], change: persistent) {
                #expect($0.waitSubscribed())
            }
            try withLink(broker.endpoint) {
                #expect($0.waitConnected()); #expect($0.publishAndWait("h/1", "held") == 0)
            }
            try withLink(broker.endpoint, id: "keeper", version: version, change: persistent) { link in
                #expect(link.wait(for: .connected(sessionPresent: true, version: version)))
                #expect(link.wait { _, messages in messages.map(\.payload) == ["held"] })
            }
        }
    }

    @Test("The will is published when the client dies, not when it says goodbye")
    func will() throws {
        try withBroker { broker in
            try withLink(broker.endpoint, filters: [("w/#", 1)]) { watcher in
                #expect(watcher.waitSubscribed())
                let polite = { (configuration: inout MQTTLinkConfiguration) in
                    configuration.will = MQTTWill(topic: "w/polite", payload: Array("gone".utf8))
                }
                try withLink(broker.endpoint, change: polite) { #expect($0.waitConnected()) }
                try withLink(
                    broker.endpoint, id: "twin",
                    change: { $0.will = MQTTWill(topic: "w/rude", payload: Array("gone".utf8)) }
                ) { first in
                    #expect(first.waitConnected())
                    // A second client of the same name: the broker closes the first, whose will is due.
                    try withLink(broker.endpoint, id: "twin") { second in
                        #expect(second.waitConnected())
                        #expect(watcher.wait { _, messages in !messages.isEmpty })
                    }
                }
                #expect(Set(watcher.received.map(\.topic)) == ["w/rude"])
            }
        }
    }

    @Test("Stopping sends what was published before")
    func stopDrains() throws {
        try withBroker { broker in
            try withLink(broker.endpoint, filters: [("d/#", 1)]) { watcher in
                #expect(watcher.waitSubscribed())
                try withLink(broker.endpoint) { link in
                    #expect(link.waitConnected())
                    link.order { link in
                        for index in 0..<3000 { _ = link.publish(topic: "d/x", payload: "\(index)".utf8, qos: Int32(index % 2)) }
                    }
                    #expect(link.stop(drainSeconds: 10))
                    #expect(link.noted.last == .disconnected(.stopped))
                }
                #expect(watcher.wait { _, messages in messages.count == 3000 })
            }
        }
    }

    @Test("Stopping works without a connection, and before one")
    func stopUnconnected() throws {
        var configuration = MQTTLinkConfiguration(
            endpoint: MQTTEndpoint(host: "127.0.0.1", port: Loopback.freePort()), clientID: "nobody")
        configuration.backoffMinimumSeconds = 30
        let link = try LinkRecorder(configuration)
        #expect(link.stop())
        #expect(link.noted.last == .disconnected(.stopped))
    }
}
