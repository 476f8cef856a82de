import Foundation
import Loopback
import Testing

@testable import MQTTLink

@Suite("The access list on a real mosquitto", .serialized, .timeLimit(.minutes(5)))
struct AccessListTests {
    /// Who publishes where, and whether it must pass.
    static let writes: [(topic: String, passes: Bool)] = [
        ("d/v/b/f/r/l/position", true), ("d/v/b/f/r/l/position/more", false), ("d/v/b/f/r/position", false),
        ("geomatch/d/ann/request/device/create", true), ("geomatch/d/ann/request", true),
        ("geomatch/d/ann/request/a/b/c", true), ("geomatch/d/ann/request/a/b/c/d", true),
        ("geomatch/d/ann/requests", true), ("geomatch/d/ann/requests/device/list", true), ("geomatch/d/ann/requests/a/b/c", true),
        ("geomatch/d/bob/requests/device/list", false), ("geomatch/d/bob/requests/a/b/c", false),
        ("geomatch/d/request/device/list", false), ("geomatch/status/n", false),
        ("geomatch/d/bob/request/device/create", false), ("geomatch/d/bob/request/a/b/c", false),
        ("geomatch/d/ann/reply", false), ("geomatch/d/bob/reply", false), ("geomatch/d/bob/reply/a/b/c", false),
        ("geomatch/d/ann/match/dev/sub", false), ("geomatch/d/bob/match/dev/sub", false),
        ("geomatch/d/bob/match/a/b/c", false), ("geomatch/d/bob/live/1", false), ("geomatch/d/bob/circumstance/1", false),
        ("geomatch/d/bob/changes", false), ("geomatch/d/bob/beacon/1", false), ("geomatch/d/diagnostics/update", false),
        ("geomatch/d/diagnostics/update/a/b/c", false), ("geomatch/d/status", false), ("geomatch/d/status/a/b/c/d", false),
        ("geomatch/status", false), ("geomatch/status/a/b/c/d/e", false), ("live/d/v/b/f/r/l/position", false),
        ("live/v/b/f/r/l/position", false), ("live/x", false), ("x", false), ("$SYS/x", false),
    ]

    /// What the daemon publishes, and who must see it.
    static let reads: [(topic: String, seenBy: Set<String>)] = [
        ("live/d/v/b/f/r/l/position", ["ann", "bob"]), ("geomatch/status", ["ann", "bob"]),
        ("geomatch/status/n1", ["ann", "bob"]), ("geomatch/d/status", ["ann", "bob"]),
        ("geomatch/d/diagnostics/update", ["ann", "bob"]),
        ("geomatch/d/ann/reply", ["ann"]), ("geomatch/d/ann/reply/a/b/c", ["ann"]), ("geomatch/d/bob/reply", ["bob"]),
        ("geomatch/d/ann/match/dev/sub", ["ann"]), ("geomatch/d/bob/live/1", ["bob"]), ("geomatch/d/bob/changes", ["bob"]),
        ("geomatch/d/bob/request/device/create", ["bob"]), ("d/v/b/f/r/l/position", []), ("other/x", []),
    ]

    @Test(
        "Two users write and read as themselves only, regardless of who decides: the plugin, or mosquitto itself",
        arguments: ["", "site1/", "a/b"], [true, false])
    func embedded(prefix: String, withPlugin: Bool) throws {
        try withFolder { folder in
            for (index, name) in ["ann", "bob"].enumerated() {
                let create = index == 0 ? ["-c"] : []
                try runProgram("/usr/bin/mosquitto_passwd", ["-b"] + create + [folder + "/users", name, name])
            }
            var configuration = EmbeddedBrokerConfiguration(
                dataDirectory: folder + "/data", port: Loopback.freePort(), usersFile: folder + "/users", topicsPrefix: prefix,
                log: { _ in })
            let plugin: String = try #require(BrokerPlugin.find())
            configuration.pluginFile = withPlugin ? plugin : nil
            let broker = EmbeddedBroker(configuration)
            try broker.start(timeoutSeconds: 20)
            defer { broker.stop() }
            let normal = AccessList(prefix: prefix).prefix
            try check(prefix: normal, daemon: broker.endpoint) {
                MQTTEndpoint(host: "127.0.0.1", port: configuration.port, username: $0, password: $0)
            }
            try withLink(MQTTEndpoint(host: "127.0.0.1", port: configuration.port)) { anonymous in
                #expect(anonymous.wait { events, _ in events.contains(where: \.isDisconnected) })
                #expect(!anonymous.wasConnected)
            }
        }
    }

    @Test("What adapters read may be written by every user, and by nothing else is the list longer")
    func adapterFilters() {
        let plain = AccessList(prefix: "p", users: ["ann"]).text().split(separator: "\n")
        let list = AccessList(prefix: "p", users: ["ann"], adapterFilters: ["owntracks/+/+/#", "tele/+/SENSOR"])
        let added = list.text().split(separator: "\n").filter { !plain.contains($0) }
        #expect(
            added == [
                "# What adapters read of other ecosystems.", "pattern write owntracks/+/+/#", "pattern write tele/+/SENSOR",
            ])
    }

    @Test("The example for other people's brokers is this list, and its daemon may do all")
    func example() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent()
        let example = try String(contentsOf: root.appendingPathComponent("deploy/mosquitto/geomatch.acl"), encoding: .utf8)
        #expect(example == AccessList(daemon: "geomatchd").text())
        try withBroker(lines: { folder in
            for (index, name) in ["ann", "bob", "geomatchd"].enumerated() {
                let create = index == 0 ? ["-c"] : []
                try runProgram("/usr/bin/mosquitto_passwd", ["-b"] + create + [folder + "/users", name, name])
            }
            try BrokerFiles.write(example, to: folder + "/acl")
            return "allow_anonymous false\npassword_file \(folder)/users\nacl_file \(folder)/acl"
        }) { broker in
            func login(_ name: String) -> MQTTEndpoint {
                MQTTEndpoint(host: "127.0.0.1", port: broker.port, username: name, password: name)
            }
            // Patterns alone cannot make the exceptions for seven levels in one's own tree.
            try check(prefix: "", daemon: login("geomatchd"), without: ["request/a/b/c", "requests/a/b/c", "reply/a/b/c"], login)
        }
    }

    private func check(
        prefix: String, daemon: MQTTEndpoint, without: [String] = [], _ login: (String) -> MQTTEndpoint
    ) throws {
        let filters: [(filter: String, qos: Int32)] = [("#", 1)]
        try withLink(daemon, filters: filters) { daemon in
            try withLink(login("ann"), filters: filters) { ann in
                try withLink(login("bob"), filters: filters) { bob in
                    #expect(daemon.waitSubscribed() && ann.waitSubscribed() && bob.waitSubscribed())
                    for (topic, passes) in Self.writes {
                        let excepted = without.contains { topic.hasSuffix($0) }
                        let reason = ann.publishAndWait(prefix + topic, "by ann")
                        #expect((reason.map { $0 < 0x80 } ?? false) == (passes && !excepted), "\(topic): \(reason ?? 0)")
                    }
                    for (topic, _) in Self.reads { #expect(daemon.publishAndWait(prefix + topic, "by daemon") == 0) }
                    // The last one that both see: what they have not got by then they do not get.
                    let end = prefix + "live/end"
                    #expect(daemon.publishAndWait(end, "by daemon") == 0)
                    for link in [daemon, ann, bob] { #expect(link.wait { _, messages in messages.contains { $0.topic == end } }) }
                    let expected = Self.writes.filter { row in row.passes && !without.contains { row.topic.hasSuffix($0) } }
                    #expect(
                        daemon.received.filter { $0.payload == "by ann" }.map(\.topic) == expected.map { prefix + $0.topic })
                    for (name, link) in [("ann", ann), ("bob", bob)] {
                        let seen = Set(link.received.filter { $0.payload == "by daemon" }.map(\.topic)).subtracting([end])
                        let due = Self.reads.filter { row in
                            row.seenBy.contains(name) && !without.contains { row.topic.hasSuffix($0) }
                        }
                        #expect(seen == Set(due.map { prefix + $0.topic }), "\(name)")
                    }
                }
            }
        }
    }

    @Test("A users file is read with its names; a line that is none is named, with what is wrong")
    func usersFile() throws {
        let hash = "$7$101$c2FsdA==$aGFzaA=="
        let users = try UsersFile("# made by hand\nbob:\(hash)\n\nann:\(hash)\r\nbob:\(hash)x\n")
        #expect(users.names == ["ann", "bob"])
        #expect(users.text == "ann:\(hash)\nbob:\(hash)x\n")
        let long = String(repeating: "n", count: 65)
        for wrong in ["+:\(hash)", "ann/match:\(hash)", "\(long):\(hash)", ":\(hash)", "status:\(hash)", "ann", "ann:secret"] {
            let problem = #expect(throws: UsersFile.Problem.self) { try UsersFile("bob:\(hash)\n\(wrong)\n") }
            #expect(problem?.line == 2, "\(wrong)")
            #expect(problem?.reason.contains("secret") == false)
        }
    }

    // MARK: What each user may do

    private static let grants: @Sendable (String) -> [AccessList.Grant] = { user in
        switch user {
        case "ann": [AccessList.Grant(dataset: "museum-*", reads: .own, writes: .own)]
        case "bob":
            [
                AccessList.Grant(dataset: "shop", reads: .none, writes: .all),
                AccessList.Grant(dataset: "*", reads: .all, writes: .none),
            ]
        default: []
        }
    }

    @Test("A list with grants names datasets, and patterns of them as its reader knows them")
    func grantsText() {
        let list = AccessList(users: ["ann"], adapterFilters: ["owntracks/+/+/#"], grants: Self.grants)
        let plugin = list.text(for: .plugin)
        for line in [
            "topic read live/museum-*/+/+/+/+/ann/+", "topic write museum-*/+/+/+/+/ann/+", "topic write owntracks/ann/+/#",
            "topic read geomatch/museum-*/diagnostics/#",
        ] { #expect(plugin.contains(line + "\n"), "\(plugin)") }
        let mosquitto = list.text(for: .mosquitto(datasets: ["museum-a", "shop", "museum-b"]))
        #expect(mosquitto.contains("topic write museum-a/+/+/+/+/ann/+\n") && mosquitto.contains("live/museum-b/"))
        #expect(!mosquitto.contains("*") && !mosquitto.contains("shop"))
        #expect(!mosquitto.contains("pattern read live/#"))
    }

    @Test("A user who does not read all that is discovered does not read discovery, which names its things")
    func discovery() {
        func reads(_ grants: [(dataset: String, reads: AccessList.Reach)], _ discovered: [String]) -> Bool {
            var list = AccessList(
                users: ["ann"],
                grants: { _ in grants.map { AccessList.Grant(dataset: $0.dataset, reads: $0.reads, writes: .none) } })
            (list.discoveryPrefix, list.discoveryDatasets) = ("homeassistant", discovered)
            return list.text(for: .plugin).contains("topic read homeassistant/#\n")
        }
        #expect(reads([("*", .all)], ["home", "shop-*"]))
        #expect(reads([("home", .all), ("shop-*", .all)], ["home", "shop-*"]))
        #expect(!reads([("home", .all)], ["*"]))
        #expect(!reads([("home", .all)], ["home", "shop"]))
        #expect(!reads([("home", .own)], ["home"]))
    }

    @Test(
        "What users are granted holds at the broker, whether the plugin or mosquitto itself decides", arguments: [true, false])
    func grantsHold(withPlugin: Bool) throws {
        try withFolder { folder in
            for (index, name) in ["ann", "bob", "eve"].enumerated() {
                let create = index == 0 ? ["-c"] : []
                try runProgram("/usr/bin/mosquitto_passwd", ["-b"] + create + [folder + "/users", name, name])
            }
            var configuration = EmbeddedBrokerConfiguration(
                dataDirectory: folder + "/data", port: Loopback.freePort(), usersFile: folder + "/users", log: { _ in })
            let plugin: String = try #require(BrokerPlugin.find())
            configuration.pluginFile = withPlugin ? plugin : nil
            configuration.grants = { user in
                // Without the plugin a pattern stands for datasets that are known at the start: none here.
                Self.grants(user).map { grant in
                    var grant = grant
                    if !withPlugin, grant.dataset == "museum-*" { grant.dataset = "museum-a" }
                    return grant
                }
            }
            let broker = EmbeddedBroker(configuration)
            try broker.start(timeoutSeconds: 20)
            defer { broker.stop() }
            func login(_ name: String) -> MQTTEndpoint {
                MQTTEndpoint(host: "127.0.0.1", port: configuration.port, username: name, password: name)
            }
            let writes: [(user: String, topic: String, passes: Bool)] = [
                ("ann", "museum-a/-/-/-/-/ann/position", true), ("ann", "museum-a/-/-/-/-/bob/position", false),
                ("ann", "shop/-/-/-/-/ann/position", false), ("ann", "live/-/-/-/-/ann/position", false),
                ("ann", "geomatch/shop/ann/request/device/get", true), ("ann", "geomatch/shop/bob/request/device/get", false),
                ("bob", "shop/-/-/-/-/x/position", true), ("bob", "museum-a/-/-/-/-/bob/position", false),
                ("bob", "geomatch/-/-/-/-/x/position", false), ("eve", "shop/-/-/-/-/eve/position", false),
                ("eve", "geomatch/shop/eve/request/device/get", true), ("eve", "geomatch/shop/eve/requests/device/get", true),
                ("eve", "geomatch/shop/ann/requests/device/get", false),
            ]
            let reads: [(topic: String, seenBy: Set<String>)] = [
                ("live/museum-a/-/-/-/-/ann/position", ["ann", "bob"]), ("live/museum-a/-/-/-/-/x/position", ["bob"]),
                ("live/shop/-/-/-/-/ann/position", ["bob"]), ("geomatch/museum-a/status", ["ann", "bob"]),
                ("geomatch/shop/diagnostics/update", ["bob"]), ("geomatch/shop/eve/reply", ["eve"]),
                ("geomatch/status/n1", ["ann", "bob", "eve"]), ("geomatch/status", ["ann", "bob", "eve"]),
            ]
            let filters: [(filter: String, qos: Int32)] = [("#", 1)]
            try withLink(broker.endpoint) { daemon in
                try withLink(login("ann"), filters: filters) { ann in
                    try withLink(login("bob"), filters: filters) { bob in
                        try withLink(login("eve"), filters: filters) { eve in
                            let links = ["ann": ann, "bob": bob, "eve": eve]
                            #expect(daemon.waitConnected() && links.values.allSatisfy { $0.waitSubscribed() })
                            for (user, topic, passes) in writes {
                                let reason = try #require(links[user]?.publishAndWait(topic, "x"))
                                #expect((reason < 0x80) == passes, "\(user) \(topic)")
                            }
                            for (topic, _) in reads { #expect(daemon.publishAndWait(topic, "by daemon") == 0) }
                            for (user, link) in links {
                                #expect(link.wait { _, messages in messages.contains { $0.topic == "geomatch/status" } })
                                let seen = Set(link.received.filter { $0.payload == "by daemon" }.map(\.topic))
                                #expect(seen == Set(reads.filter { $0.seenBy.contains(user) }.map(\.topic)), "\(user)")
                            }
                        }
                    }
                }
            }
        }
    }
}
