import Cluster
import DaemonCore
import Datasets
import Logging
import MemoryStore
import Records
import Synchronization
import Testing

@testable import MQTTDoor
@testable import MQTTLink

/// A door without a link: what it decides is seen in its session.
private struct DoorBench {
    let door: MQTTDoor

    init(prefix: String = "", clock: CoreClock = .system, role: ShardRole? = nil, passedOn: Int = 0) {
        let topics = Topics(prefix: prefix)
        var configuration = HubConfiguration()
        configuration.naming = topics.naming
        configuration.instance = "i"
        let core = Core(
            hub: Hub(configuration), seed: (1, 2), clock: clock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, health: Health())
        var ours = MQTTDoor.Configuration(
            broker: "mqtt://h:1", topics: topics, instance: "i", readsEveryDataset: true, inputQoS: 0,
            status: StatusMessage(version: "1", instance: "i", startedAt: 0))
        ours.role = role
        ours.passedOn = passedOn
        door = MQTTDoor(ours, core: core, heldFilters: ["old/#"])
    }

    /// A status that came from the broker.
    func note(_ payload: String, retain: Bool = false) {
        let (name, text) = (Array("geomatch/status".utf8), Array(payload.utf8))
        name.withUnsafeBytes { name in
            text.withUnsafeBytes { text in
                door.noteStatus(
                    InboundMessage(topic: name, payload: text, retain: retain, qos: 0, responseTopic: nil, correlation: nil))
            }
        }
    }

    /// Whether the door carries out what the message asks for.
    func isForHere(_ topic: String) -> Bool {
        Array(topic.utf8).withUnsafeBytes { name in
            door.isForHere(
                InboundMessage(
                    topic: name, payload: UnsafeRawBufferPointer(start: nil, count: 0), retain: false, qos: 1, responseTopic: nil,
                    correlation: nil))
        }
    }

    /// Messages that the broker hands over together.
    func receive(_ topics: [String]) {
        var buffer = InboundBuffer()
        for topic in topics {
            Array(topic.utf8).withUnsafeBytes { topic in
                Array("{}".utf8).withUnsafeBytes { payload in
                    buffer.append(
                        topic: topic, payload: payload, qos: 1, retain: false, leftOut: 0, response: nil, correlation: nil)
                }
            }
        }
        door.linkReceived(buffer.batch(0..<topics.count))
    }

    /// The probe that it waits for comes back.
    func becomeOnline() -> Bool {
        door.session.phase = .probing(until: .max)
        return isOwn("geomatch/geomatch/\(door.sessionName)/request/probe/" + door.session.nextProbe())
            && door.session.phase == .online
    }

    /// Whether the door takes the message for its own.
    func isOwn(_ topic: String, _ payload: String = "{}", retain: Bool = false) -> Bool {
        let (name, text) = (Array(topic.utf8), Array(payload.utf8))
        return name.withUnsafeBytes { name in
            text.withUnsafeBytes { text in
                door.isOwn(
                    InboundMessage(topic: name, payload: text, retain: retain, qos: 1, responseTopic: nil, correlation: nil))
            }
        }
    }
}

private func withDoor(
    prefix: String = "", clock: CoreClock = .system, _ body: (DoorBench) async throws -> Void
) async throws {
    try await body(DoorBench(prefix: prefix, clock: clock))
}

private final class Routed: Sendable {
    let messages = Mutex<[RoutedMessage]>([])
    var topics: [String] { messages.withLock { $0.map { String(decoding: $0.topic, as: UTF8.self) } } }
}

@Suite("A session at the broker")
struct SessionTests {
    @Test("A reply is its client's, at the topic that it goes to", arguments: ["", "site/"])
    func recipient(_ prefix: String) async throws {
        try await withDoor(prefix: prefix) { bench in
            func recipient(_ topic: String, door: Int = 0) -> Recipient? {
                bench.door.recipient(of: MQTTReturnAddress.make(door: door, topic: topic, correlation: nil))
            }
            let reply = try #require(recipient("\(prefix)geomatch/d/me/my/answers"))
            #expect([reply.dataset, reply.client, reply.path] == ["d", "me", "my/answers"])
            #expect(recipient("\(prefix)geomatch/d/me/reply")?.path == "reply")
            #expect(recipient("\(prefix)geomatch/d/me/reply", door: 1) == nil)
            #expect(recipient("geomatch/d") == nil && recipient("elsewhere/geomatch/d/me/reply") == nil)
        }
    }

    @Test("Updates that the broker left out for a newer one are counted in their dataset", arguments: ["", "site/"])
    func leftOut(_ prefix: String) {
        let bench = DoorBench(prefix: prefix)
        bench.door.core.createDatasets(["d"])
        var buffer = InboundBuffer()
        for (topic, leftOut) in [("d/-/-/-/-/a/count", 3), ("d/-/-/-/-/b/count", 0), ("unknown/-/-/-/-/b/count", 9)] {
            Array("\(prefix)\(topic)".utf8).withUnsafeBytes { topic in
                Array(#"{"count":1}"#.utf8).withUnsafeBytes { payload in
                    buffer.append(
                        topic: topic, payload: payload, qos: 0, retain: false, leftOut: UInt32(leftOut), response: nil,
                        correlation: nil)
                }
            }
        }
        bench.door.linkReceived(buffer.batch(0..<3))
        let updates = bench.door.core.hub.figures.first { $0.dataset == "d" }?.updates ?? []
        #expect(updates.first { $0.outcome == "conflated" }?.count == 3)
        #expect(updates.first { $0.outcome == "accepted" }?.count == 2)
    }

    @Test("What came while a shard was handed over was carried out and never answered", arguments: [false, true])
    func passingOn(isLast: Bool) throws {
        let routed = Routed()
        let dataset = try #require((0..<1000).lazy.map { "d\($0)" }.first { Sharding.shard(of: $0) == 0 })
        let bench = DoorBench(
            role: ShardRole(
                shard: 0, createsDatasets: false, isFresh: { true },
                route: { message in routed.messages.withLock { $0.append(message) } }, askStore: { 5 }, isComplete: { true }))
        let request = "geomatch/\(dataset)/me/request/device/list"
        #expect(bench.isForHere(request) && bench.isForHere("\(dataset)/a/b/c/d/e/position"))
        bench.door.stop(endsService: isLast)
        bench.door.linkWoken()
        #expect(bench.isForHere(request) == isLast && bench.isForHere("\(dataset)/a/b/c/d/e/position") == isLast)
        #expect(routed.messages.withLock { $0.map { String(decoding: $0.topic, as: UTF8.self) } }.contains(request) == !isLast)
    }

    /// A dataset of shard 0, and a role there.
    private func handedOver(_ routed: Routed) throws -> (dataset: String, role: ShardRole) {
        let dataset = try #require((0..<1000).lazy.map { "d\($0)" }.first { Sharding.shard(of: $0) == 0 })
        let role = ShardRole(
            shard: 0, createsDatasets: false, isFresh: { true },
            route: { message in routed.messages.withLock { $0.append(message) } }, askStore: { 5 }, isComplete: { true })
        return (dataset, role)
    }

    /// Who was answered, in order.
    private func answered(_ bench: DoorBench) -> [String] {
        bench.door.linkWoken()
        return bench.door.unsent.compactMap { message in
            let levels = String(decoding: message.topic, as: UTF8.self).split(separator: "/")
            return levels.count == 4 ? String(levels[2]) : nil
        }
    }

    @Test("What came to an owner as it ended was carried out behind what came to the next one later")
    func handedOverInOrder() throws {
        let routed = Routed()
        let (dataset, role) = try handedOver(routed)
        func request(_ client: String) -> String { "geomatch/\(dataset)/\(client)/request/device/list" }
        let former = DoorBench(role: role)
        former.door.stop()
        former.door.linkWoken()
        former.receive([request("a"), request("b")])
        #expect(former.door.passedOnCount == 2)
        let passedOn = routed.messages.withLock { $0 }.compactMap { $0.encoded.withUnsafeBytes { RoutedMessage($0) } }
        #expect(passedOn.count == 2 && passedOn.allSatisfy(\.isOfFormerOwner))
        let next = DoorBench(role: role, passedOn: former.door.passedOnCount)
        // Replies are kept, and can be looked at.
        next.door.shardState.opening = ["another"]
        next.receive([request("c")])
        #expect(next.becomeOnline())
        #expect(answered(next) == [])
        next.door.receive(passedOn[0])
        #expect(answered(next) == ["a"])
        next.receive([request("d")])
        next.door.receive(passedOn[1])
        #expect(answered(next) == ["a", "b", "c", "d"])
        next.receive([request("e")])
        #expect(answered(next) == ["a", "b", "c", "d", "e"])
    }

    @Test("What the former owner passed on and is lost is waited for two seconds, or until the end", arguments: [false, true])
    func handedOverInPart(ends: Bool) throws {
        let routed = Routed()
        let (dataset, role) = try handedOver(routed)
        let later = Mutex<Int64>(0)
        let clock = CoreClock(
            now: CoreClock.system.now, monotonic: { CoreClock.system.monotonic() + later.withLock { $0 } })
        let bench = DoorBench(clock: clock, role: role, passedOn: 1)
        bench.door.shardState.opening = ["another"]
        bench.receive(["geomatch/\(dataset)/a/request/device/list"])
        #expect(bench.becomeOnline())
        _ = bench.door.linkTick(now: CoreClock.system.now())
        #expect(answered(bench) == [])
        if ends { bench.door.stop(endsService: true) } else { later.withLock { $0 = 2000 } }
        _ = bench.door.linkTick(now: CoreClock.system.now())
        #expect(answered(bench) == ["a"])
    }

    @Test("Only what the former owner of the shard passed on is marked, and nothing that was retained")
    func marks() throws {
        let routed = Routed()
        let (dataset, role) = try handedOver(routed)
        let other = try #require((0..<1000).lazy.map { "d\($0)" }.first { Sharding.shard(of: $0) != 0 })
        let bench = DoorBench(role: role)
        func message(_ shard: Int, isRetained: Bool = false) -> RoutedMessage {
            RoutedMessage(
                topic: Array(dataset.utf8), payload: [1], responseTopic: nil, correlation: [2], isRetained: isRetained,
                shard: shard)
        }
        #expect(!bench.door.marked(message(0)).isOfFormerOwner)
        bench.door.stop()
        bench.door.linkWoken()
        #expect(bench.door.marked(message(0)).isOfFormerOwner)
        for message in [message(Sharding.shard(of: other)), message(0, isRetained: true)] {
            #expect(bench.door.marked(message) == message)
            #expect(message.encoded.withUnsafeBytes { RoutedMessage($0) } == message)
        }
        #expect(bench.door.passedOnCount == 1)
    }

    @Test("A request in a dataset that was deleted while the reception was dead was answered a second time")
    func deletedMeanwhile() throws {
        let routed = Routed()
        let names = (0..<1000).lazy.map { "d\($0)" }.filter { Sharding.shard(of: $0) != 0 }.prefix(3)
        let (gone, never, new) = (names[names.startIndex], names.dropFirst().first ?? "", names.last ?? "")
        let bench = DoorBench(
            role: ShardRole(
                shard: 0, createsDatasets: false, isFresh: { true },
                route: { message in routed.messages.withLock { $0.append(message) } }, askStore: { 5 }, isComplete: { true }))
        bench.door.session.phase = .probing(until: .max)
        // Replies are kept, and can be looked at.
        bench.door.shardState.opening = ["another"]
        func request(_ dataset: String, _ name: String) -> String { "geomatch/\(dataset)/me/request/\(name)" }
        // In the order in which the broker held them.
        for topic in [request(gone, "device/list"), request(never, "device/list"), request(new, "dataset/create")] {
            #expect(!bench.isForHere(topic))
        }
        #expect(bench.isOwn("geomatch/geomatch/notice/i-5", #"{"free":["\#(gone)"]}"#))
        #expect(!bench.isForHere(request(gone, "device/get")))
        #expect(bench.isOwn("geomatch/geomatch/i-0/request/probe/" + bench.door.session.nextProbe()))
        #expect(bench.door.session.phase == .online)
        bench.door.note(datasets: [], askedAt: 5)
        bench.door.linkWoken()
        let answers = bench.door.unsent.map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(
            answers.count == 2 && answers[0].contains("device/list") && answers[1].contains("device/get"), "\(answers)")
        #expect(
            routed.messages.withLock { $0.map { String(decoding: $0.topic, as: UTF8.self) } } == [request(new, "dataset/create")])
        #expect(!bench.isForHere(request(gone, "device/list")))
        bench.door.note(datasets: [], askedAt: 5)
        bench.door.linkWoken()
        #expect(bench.door.unsent.count == 3)
    }

    /// The reception of a cluster that is online, what it passes on, and a dataset of another shard.
    private func withReception(_ body: (DoorBench, Routed, String) throws -> Void) throws {
        let routed = Routed()
        let dataset = try #require((0..<1000).lazy.map { "d\($0)" }.first { Sharding.shard(of: $0) != 0 })
        let bench = DoorBench(
            role: ShardRole(
                shard: 0, createsDatasets: true, isFresh: { true },
                route: { message in routed.messages.withLock { $0.append(message) } }, askStore: { 5 }, isComplete: { true }))
        bench.door.session.phase = .online
        // Replies are kept, and can be looked at.
        bench.door.shardState.opening = ["another"]
        try body(bench, routed, dataset)
    }

    @Test("What came behind the first update of a dataset was answered before it: there was none")
    func behindFirstUpdate() throws {
        try withReception { bench, routed, dataset in
            let topics = [
                "\(dataset)/-/-/-/-/phone/position", "geomatch/\(dataset)/me/request/device/get",
                "geomatch/\(dataset)/me/request/dataset/delete",
            ]
            for topic in topics { #expect(!bench.isForHere(topic)) }
            #expect(routed.topics == topics && bench.door.unsent.isEmpty)
            // All is passed on up to the notice, which has a mark follow.
            #expect(bench.isOwn("geomatch/geomatch/notice/i-9", #"{"held":["\#(dataset)"]}"#))
            #expect(routed.topics == topics + [""])
            #expect(!bench.isForHere(topics[1]) && routed.topics.count == 4)
        }
    }

    @Test("What was made over HTTP was unknown to the next request over MQTT: the store is asked")
    func madeOverHTTP() throws {
        try withReception { bench, routed, dataset in
            let request = "geomatch/\(dataset)/me/request/device/list"
            func say(_ datasets: Set<String>, askedAt instant: Int64) {
                bench.door.note(datasets: datasets, askedAt: instant)
                bench.door.linkWoken()
            }
            #expect(!bench.isForHere(request))
            say([], askedAt: 4)
            #expect(routed.topics.isEmpty && bench.door.unsent.isEmpty)
            say([dataset], askedAt: 5)
            #expect(routed.topics == [request] && bench.door.unsent.isEmpty)
            #expect(!bench.isForHere("geomatch/nowhere/me/request/device/list"))
            say([dataset], askedAt: 6)
            #expect(routed.topics == [request] && bench.door.unsent.count == 1)
            // Views that follow each other fast do not stand for the notice, which is on its way.
            #expect(!bench.isForHere(request))
            say([dataset], askedAt: 7)
            #expect(routed.topics == [request, request])
            #expect(bench.isOwn("geomatch/geomatch/notice/i-9", #"{"held":["\#(dataset)"]}"#))
            #expect(!bench.isForHere(request) && routed.topics == [request, request, ""])
        }
    }

    @Test("What waited as the reception ended was answered that there is no such dataset", arguments: [true, false])
    func endingReception(isOnline: Bool) throws {
        try withReception { bench, routed, dataset in
            if !isOnline { bench.door.session.phase = .probing(until: .max) }
            let topics = ["device/list", "dataset/create"].map { "geomatch/\(dataset)/me/request/\($0)" }
            for topic in topics { #expect(!bench.isForHere(topic)) }
            bench.door.stop()
            bench.door.linkWoken()
            #expect(Set(routed.topics) == Set(topics) && bench.door.unsent.isEmpty)
        }
    }

    @Test("What was passed on in a new dataset was handled behind what came later, and twice")
    func passedOnFirst() throws {
        let dataset = "new"
        let shard = Sharding.shard(of: dataset)
        let bench = DoorBench(
            role: ShardRole(
                shard: shard, createsDatasets: true, isFresh: { true }, route: { _ in }, askStore: { 0 }, isComplete: { true }))
        bench.door.session.phase = .online
        bench.door.core.createDatasets([dataset])
        let topic = "\(dataset)/-/-/-/-/a/count"
        func passedOn(_ count: Int) -> RoutedMessage {
            RoutedMessage(
                topic: Array(topic.utf8), payload: Array(#"{"count":\#(count)}"#.utf8), responseTopic: nil, correlation: nil,
                isRetained: false, shard: shard)
        }
        var accepted: Int {
            let updates = bench.door.core.hub.figures.first { $0.dataset == dataset }?.updates ?? []
            return updates.filter { $0.outcome == "accepted" }.map(\.count).reduce(0, +)
        }
        func come(_ message: RoutedMessage) {
            bench.door.receive(message)
            bench.door.linkWoken()
        }
        // Before its notice the reception has it.
        #expect(!bench.isForHere(topic))
        come(passedOn(1))
        #expect(accepted == 1)
        #expect(bench.isOwn("geomatch/geomatch/notice/i-\(shard)", #"{"held":["\#(dataset)"]}"#))
        #expect(!bench.isForHere(topic) && accepted == 1)
        come(passedOn(2))
        #expect(accepted == 2)
        come(.endOfPassedOn(dataset))
        #expect(bench.door.shardState.keptBack.all.isEmpty && bench.isForHere(topic))
        // One that is gone again when its notice comes is read up to the next one.
        #expect(bench.isOwn("geomatch/geomatch/notice/i-\(shard)", #"{"held":["gone"]}"#))
        #expect(bench.door.servedDatasets == ["gone", dataset])
        come(.endOfPassedOn("gone"))
        #expect(bench.door.shardState.closing == ["gone"] && bench.door.servedDatasets == ["gone", dataset])
    }

    @Test("It begins away, knows nothing of the broker, and no two probes are the same")
    func start() {
        var session = Session()
        #expect(session.phase == .away && session.held.isEmpty && session.mark == nil && session.additions.isEmpty)
        let probes = (0..<100).map { _ in session.nextProbe() }
        #expect(Set(probes).count == probes.count && probes.last == String(session.probe))
    }

    @Test("The filters of an earlier life are known from the store")
    func held() async throws {
        try await withDoor { #expect($0.door.session.held == ["old/#"]) }
    }

    @Test("Online is when the probe that is waited for comes back: no other, and none before", arguments: ["", "site/1/"])
    func probe(prefix: String) async throws {
        try await withDoor(prefix: prefix) { bench in
            let own = prefix + "geomatch/geomatch/i/request/probe/"
            let first = bench.door.session.nextProbe()
            #expect(bench.isOwn(own + first))
            #expect(bench.door.session.phase == .away)
            let second = bench.door.session.nextProbe()
            bench.door.session.phase = .probing(until: .max)
            #expect(bench.isOwn(own + first) && bench.isOwn(prefix + "geomatch/geomatch/j/request/probe/" + second))
            #expect(bench.door.session.phase == .probing(until: .max))
            #expect(bench.isOwn(own + second))
            #expect(bench.door.session.phase == .online)
            #expect(await bench.door.core.health.firstOnline() == nil)
        }
    }

    @Test(
        "What is read of retained live state: all of it after a kill, else what is left of deleted datasets",
        arguments: ["", "site/1/"])
    func retainedFilters(prefix: String) throws {
        func filters(_ bench: DoorBench, mustAdopt: Bool) -> [String] {
            bench.door.mustAdopt = mustAdopt
            return bench.door.retainedFilters.map(\.filter)
        }
        let role = ShardRole(
            shard: 1, createsDatasets: false, isFresh: { true }, route: { _ in }, askStore: { 0 }, isComplete: { true })
        for (bench, isNode) in [(DoorBench(prefix: prefix), false), (DoorBench(prefix: prefix, role: role), true)] {
            let live = prefix + "live/"
            bench.door.core.createDatasets(["kept"])
            #expect(filters(bench, mustAdopt: false) == [])
            try bench.door.core.hub.restore(.deleteDataset(id: "gone", at: 1), at: 2)
            #expect(filters(bench, mustAdopt: false) == ["\(live)gone/#"])
            #expect(filters(bench, mustAdopt: true) == (isNode ? ["\(live)gone/#", "\(live)kept/#"] : ["\(live)#"]))
        }
    }

    @Test("Nobody else's topic is taken for the daemon's own", arguments: ["", "site/1/"])
    func foreign(prefix: String) async throws {
        try await withDoor(prefix: prefix) { bench in
            for topic in [
                "geomatch/d/i/request/probe/0", "geomatch/geomatchx/i/request", "geomatch/geomatch", "d/-/-/-/-/a/position", "",
            ] {
                #expect(!bench.isOwn(prefix + topic), "\(topic)")
            }
            if !prefix.isEmpty { #expect(!bench.isOwn("geomatch/geomatch/i/request/probe/0")) }
        }
    }

    @Test("The mark is the first retained number on its topic")
    func mark() async throws {
        try await withDoor(prefix: "p/") { bench in
            let topic = "p/geomatch/geomatch/mark/i"
            #expect(bench.isOwn(topic, "5") && bench.door.session.mark == nil)
            #expect(bench.isOwn(topic, "no number", retain: true) && bench.door.session.mark == nil)
            #expect(bench.isOwn("p/geomatch/geomatch/mark/j", "6", retain: true) && bench.door.session.mark == nil)
            #expect(bench.isOwn(topic, "7", retain: true) && bench.door.session.mark == 7)
            #expect(bench.isOwn(topic, "8", retain: true) && bench.door.session.mark == 7)
        }
    }

    @Test("A probe that never comes is a refusal that ends the start, at its time and not before")
    func noProbe() async throws {
        try await withDoor { bench in
            bench.door.session.phase = .probing(until: 1000)
            bench.door.checkProbe(at: 999)
            #expect(bench.door.session.phase == .probing(until: 1000))
            bench.door.checkProbe(at: 1000)
            #expect(bench.door.session.phase == .refused)
            guard case .refused(let why) = await bench.door.core.health.firstOnline() else {
                Issue.record("not refused")
                return
            }
            #expect(why.contains("access list"))
        }
    }

    @Test("A probe that comes after the refusal makes nothing online")
    func lateProbe() async throws {
        try await withDoor { bench in
            let probe = bench.door.session.nextProbe()
            bench.door.session.phase = .probing(until: 1000)
            bench.door.checkProbe(at: 1000)
            #expect(bench.isOwn("geomatch/geomatch/i/request/probe/" + probe))
            #expect(bench.door.session.phase == .refused)
        }
    }

    @Test("A lost connection is away, and its reason is kept for who waits")
    func lost() async throws {
        try await withDoor { bench in
            let causes: [MQTTDisconnect.Cause] = [
                .lost("reset #"), .unreachable("no route #"), .refused(.badCredentials, code: 5, text: "login #"),
            ]
            for cause in causes {
                bench.door.session.phase = .online
                bench.door.linkDisconnected(MQTTDisconnect(cause: cause, retryAfterSeconds: 0.123))
                #expect(bench.door.session.phase == .away)
                #expect(bench.door.core.health.lastReason.contains(" #"))
            }
        }
    }

    @Test("A core whose clock is another one than the link's is due when the link thinks so", arguments: [-1, 0, 1])
    func deadlines(days: Int64) async throws {
        let clock = CoreClock(now: { CoreClock.system.now() + days * 86_400_000 }, monotonic: CoreClock.system.monotonic)
        try await withDoor(clock: clock) { bench in
            let now = CoreClock.system.now()
            #expect((now...now + 10_000).contains(bench.door.linkTick(now: now)))
        }
    }

    private func status(_ instance: String, _ startedAt: Int, _ state: String = "online") -> String {
        #"{"state":"\#(state)","version":"1","instance":"\#(instance)","startedAt":\#(startedAt)}"#
    }

    @Test("Another daemon at the broker is named, until it is offline; what is retained of one that is gone is not")
    func otherDaemon() async throws {
        try await withDoor { bench in
            bench.note(status("j", 1), retain: true)
            bench.note(status("i", 0))
            bench.note("rubbish")
            #expect(bench.door.otherDaemon == nil)
            bench.note(status("j", 1))
            #expect(bench.door.otherDaemon?.contains("instance j") == true)
            bench.note(status("k", 1, "offline"))
            #expect(bench.door.otherDaemon != nil)
            bench.note(status("j", 1, "offline"))
            #expect(bench.door.otherDaemon == nil)
        }
    }

    @Test("A copy of the data directory is named once both were online; a former life of our own is none")
    func copiedData() async throws {
        try await withDoor { bench in
            bench.note(status("i", 5, "offline"), retain: true)
            #expect(bench.door.otherDaemon == nil)
            bench.door.onlineAt = 0
            // A broker that was killed before it wrote our status down has the one before.
            bench.note(status("i", -5, "offline"), retain: true)
            #expect(bench.door.otherDaemon == nil)
            bench.note(status("i", 5, "offline"), retain: true)
            #expect(bench.door.otherDaemon?.contains("copy") == true)
            bench.note(status("i", 5, "offline"), retain: true)
            #expect(bench.door.otherDaemon == nil)
        }
    }

    @Test("A copy that came later was silent: the broker gives it what the first one retained, which names it")
    func laterCopy() async throws {
        try await withDoor { first in
            first.door.onlineAt = 0
            first.note(status("i", 5), retain: true)
            let error = try #require(first.door.otherDaemon)
            try await withDoor { later in
                later.door.onlineAt = 0
                later.note(status("i", -5), retain: true)
                #expect(later.door.otherDaemon == nil)
                // As the first one says it of a copy that started when this one did.
                let naming = error.replacing("started at 5,", with: "started at 0,")
                later.note(
                    #"{"state":"online","version":"1","instance":"i","startedAt":-5,"error":"\#(naming)"}"#, retain: true)
                #expect(later.door.otherDaemon?.contains("instance i started at -5, and this one started at 0") == true)
            }
        }
    }
}
