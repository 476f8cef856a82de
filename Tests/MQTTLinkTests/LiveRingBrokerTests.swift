import Foundation
import Loopback
import SeededRandom
import Testing

@testable import MQTTLink

@Suite("Live updates through the embedded broker's memory, and over MQTT", .serialized, .timeLimit(.minutes(5)))
struct LiveRingBrokerTests {
    /// A broker with its plugin, and a link that reads as the daemon does.
    private struct Setting {
        let broker: EmbeddedBroker
        let endpoint: MQTTEndpoint
        let daemon: LinkRecorder
        let ring: LiveRing?

        /// Has what comes from now on come through the memory, where there is one.
        func open(keepsAssured: Bool = false) throws {
            let former = daemon.received.count(where: Self.isProbe)
            let refusal = daemon.ask { link in
                let refusal = link.openRing(kept: "geomatch/", keepsAssured: keepsAssured)
                _ = link.publish(topic: "geomatch/me/me/request/probe/1", payload: "{}".utf8, qos: 1)
                return refusal
            }
            #expect(refusal == .some(nil))
            #expect(daemon.wait { _, messages in messages.count(where: Self.isProbe) > former })
        }

        static func isProbe(_ message: Received) -> Bool { message.topic.hasSuffix("/probe/1") }

        /// What came on live topics, in order.
        var lives: [Received] { daemon.received.filter { !$0.topic.hasPrefix("geomatch/") } }
    }

    private static let filters: [(filter: String, qos: Int32)] = [
        ("geomatch/+/+/request/+/+", 1), ("+/+/+/+/+/+/+", 0), ("d", 0), ("d/+", 0), ("own/#", 0),
    ]

    private func withSetting(
        ring: LiveRing?, filters: [(filter: String, qos: Int32)] = filters, before: (EmbeddedBroker, MQTTEndpoint) throws -> Void,
        _ body: (Setting) throws -> Void
    ) throws {
        try withFolder { folder in
            try withEmbedded(in: folder, change: { $0.ring = ring }) { broker, configuration in
                let endpoint = MQTTEndpoint(host: "127.0.0.1", port: configuration.port)
                try before(broker, endpoint)
                try withLink(
                    broker.endpoint, id: "geomatchd-test", filters: filters, ring: ring,
                    change: {
                        $0.brokerTakesBatches = true
                        $0.persistentSession = true
                    }
                ) { daemon in
                    #expect(daemon.waitSubscribed())
                    try body(Setting(broker: broker, endpoint: endpoint, daemon: daemon, ring: ring))
                }
            }
        }
    }

    /// A client that goes without a word and leaves a will.
    private func die(at port: Int, will topic: String, _ payload: String) {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = in_port_t(port).bigEndian
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 0xFF)] + text.utf8 }
        // CONNECT of 3.1.1: a clean session and a will at QoS 0 that is not retained.
        let body = text("MQTT") + [4, 0b110, 0, 60] + text("mortal") + text(topic) + text(payload)
        let packet: [UInt8] = [0x10, UInt8(body.count)] + body
        _ = send(client, packet, packet.count, Int32(MSG_NOSIGNAL))
        var answer = [UInt8](repeating: 0, count: 4)
        _ = recv(client, &answer, 4, Int32(MSG_WAITALL))
    }

    private func makeRing(_ isShared: Bool, capacity: Int = LiveRing.defaultCapacity) throws -> LiveRing? {
        isShared ? try LiveRing(capacity: capacity) : nil
    }

    @Test(
        "A conversation comes the same way: order, retained, clearings, wills, QoS 2, any number of levels",
        arguments: [true, false])
    func conversation(isShared: Bool) throws {
        var random = SeededRandom.SplitMix64.forTest()
        try withSetting(ring: try makeRing(isShared)) { _, endpoint in
            try withLink(endpoint) { client in
                #expect(client.waitConnected())
                #expect(client.publishAndWait("d/-/-/-/-/old/position", "old", retain: true) == 0)
                #expect(client.publishAndWait("own/older", "older", retain: true) == 0)
            }
        } _: { setting in
            try setting.open()
            #expect(setting.lives.map(\.payload).sorted() == ["old", "older"] && setting.lives.allSatisfy { $0.retain })
            let former = setting.daemon.received.count
            let topics = [
                "d/-/-/-/-/a/position", "e/v/b/f/r/ü/count", "d/x", "d", "own/a/b/c/d/e/f/g/h",
                "geomatch/d/c/request/device/get", "geomatch/d/c/request/device/list",
            ]
            var sent: [Received] = []
            try withLink(setting.endpoint, id: "sender") { client in
                #expect(client.waitConnected())
                for number in 0..<600 {
                    let topic = topics.randomElement(using: &random) ?? ""
                    let isRequest = topic.hasPrefix("geomatch/")
                    // The same request now and then, an update of any length.
                    let length = Int.random(in: 0..<20, using: &random) == 0 ? 70_000 : Int.random(in: 0..<300, using: &random)
                    var payload = isRequest ? "{}" : "\(number)" + String(repeating: "p", count: length)
                    if Int.random(in: 0..<8, using: &random) == 0 { payload = "" }
                    // Of one QoS: the broker may change the order of two.
                    let retain = Int.random(in: 0..<5, using: &random) == 0
                    client.publish(topic, payload, qos: 1, retain: retain)
                    sent.append(Received(topic: topic, payload: payload))
                }
                #expect(client.publishAndWait("geomatch/d/c/request/the/end", "") == 0)
            }
            #expect(setting.daemon.wait { _, messages in messages.last?.topic == "geomatch/d/c/request/the/end" })
            #expect(Array(setting.daemon.received[former...].dropLast()) == sent)
            // What has no event of a message in the plugin, or not when it goes out.
            let port = try #require(setting.endpoint.hosts.first?.port)
            die(at: port, will: "d/-/-/-/-/mortal/position", "will")
            try runProgram("/usr/bin/mosquitto_pub", ["-p", "\(port)", "-q", "2", "-t", "d/-/-/-/-/b/count", "-m", "two"])
            #expect(setting.daemon.wait { _, messages in Set(["will", "two"]).isSubset(of: messages.map(\.payload)) })
            // Retained ones say so whenever they are asked for, and are in order with what comes otherwise.
            setting.daemon.order { $0.subscribe([("late/#", 0)]) }
            try withLink(setting.endpoint, id: "later") { client in
                #expect(client.waitConnected())
                #expect(client.publishAndWait("late/1", "kept", retain: true) == 0)
                #expect(setting.daemon.wait { _, messages in messages.last?.payload == "kept" })
                setting.daemon.order { $0.subscribe([("late/#", 0)]) }
                #expect(setting.daemon.wait { _, messages in messages.count { $0.payload == "kept" } == 2 })
                #expect(client.publishAndWait("late/2", "fresh") == 0)
                #expect(setting.daemon.wait { _, messages in messages.last?.payload == "fresh" })
                let late = setting.lives.filter { $0.topic.hasPrefix("late/") }
                #expect(late.map(\.retain) == [false, true, false])
            }
            let count = setting.daemon.ask { _ in setting.ring?.count }
            #expect(isShared ? (count ?? 0) ?? 0 > 300 : count == .some(nil))
        }
    }

    @Test("What was published at QoS 1 stays with the session where the broker is to keep it")
    func assured() throws {
        try withSetting(ring: try makeRing(true), filters: [("geomatch/#", 1), ("d/#", 1)]) { _, _ in
        } _: { setting in
            try setting.open(keepsAssured: true)
            try withLink(setting.endpoint) { client in
                #expect(client.waitConnected())
                for number in 0..<30 { client.publish("d/\(number)", "\(number)", qos: Int32(number % 2)) }
                #expect(setting.daemon.wait { _, messages in messages.count == 31 })
                #expect(setting.lives.map(\.payload) == (0..<30).map { "\($0)" })
                #expect(setting.daemon.ask { _ in setting.ring?.count } == 15)
            }
        }
    }

    @Test("While the daemon takes nothing the newest update of each topic wins, and no request, clearing or count is lost")
    func full() throws {
        try withSetting(ring: try makeRing(true, capacity: 1 << 15)) { _, _ in
        } _: { setting in
            try setting.open()
            let (stopped, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            setting.daemon.order { _ in
                stopped.signal()
                goOn.wait()
            }
            stopped.wait()
            let payload = String(repeating: "p", count: 200)
            try withLink(setting.endpoint) { client in
                #expect(client.waitConnected())
                for number in 0..<4000 {
                    let topic = "d/-/-/-/-/\(number % 25)/count"
                    client.publish(topic, number % 100 == 7 ? "" : "\(number) \(payload)")
                    if number % 50 == 0 { client.publish("geomatch/d/c/request/number/\(number)", "{}") }
                }
                #expect(client.publishAndWait("d/-/-/-/-/end/count", "end") == 0)
            }
            goOn.signal()
            #expect(setting.daemon.wait { _, messages in messages.last?.payload == "end" })
            let lives = setting.lives
            let leftOut = lives.reduce(0) { $0 + Int($1.leftOut) }
            #expect(leftOut > 1000 && lives.count + leftOut == 4001)
            #expect(lives.count { $0.payload.isEmpty } == 40)
            for topic in 0..<25 {
                let last = lives.last { $0.topic == "d/-/-/-/-/\(topic)/count" }
                let expected = topic == 7 ? "3982 " : "\(3975 + topic) "
                #expect(last?.payload.hasPrefix(expected) == true, "\(topic): \(last?.payload.prefix(8) ?? "")")
            }
            let requests = setting.daemon.received.filter { $0.topic.contains("/number/") }
            #expect(requests.map(\.topic) == stride(from: 0, to: 4000, by: 50).map { "geomatch/d/c/request/number/\($0)" })
        }
    }

    @Test("A broker that is killed is followed by one that goes on where it was")
    func restarted() throws {
        try withSetting(ring: try makeRing(true)) { _, _ in
        } _: { setting in
            try setting.open()
            let process = try #require(setting.broker.processID)
            try withLink(setting.endpoint) { client in
                #expect(client.waitConnected())
                #expect(client.publishAndWait("d/1", "before") == 0)
                #expect(setting.daemon.wait { _, messages in messages.last?.payload == "before" })
            }
            kill(process, SIGKILL)
            #expect(setting.daemon.wait { events, _ in events.count { $0.isSubscribed } == 2 })
            let former = setting.daemon.ask { _ in setting.ring?.count }
            try withLink(setting.endpoint) { client in
                #expect(client.waitConnected())
                // Not opened anew: over MQTT.
                #expect(client.publishAndWait("d/2", "between") == 0)
                #expect(setting.daemon.wait { _, messages in messages.last?.payload == "between" })
                #expect(setting.daemon.ask { _ in setting.ring?.count } == former)
                try setting.open()
                #expect(client.publishAndWait("d/3", "after") == 0)
                #expect(setting.daemon.wait { _, messages in messages.last?.payload == "after" })
                #expect(setting.daemon.ask { _ in setting.ring?.count } == former.map { $0.map { $0 + 1 } })
            }
            #expect(setting.lives.map(\.payload) == ["before", "between", "after"])
        }
    }
}
