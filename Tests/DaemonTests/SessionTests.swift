import Datasets
import Foundation
import Logging
import Store
import Testing

@testable import MQTTLink
@testable import geomatchd
@testable import Records

/// A loop without a link: what it decides is seen in its session and in what waits for it.
private struct LoopBench {
    let loop: DaemonLoop
    let store: Store
    let folder: String

    init(prefix: String = "") throws {
        folder = NSTemporaryDirectory() + "geomatch-loop-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var configuration = HubConfiguration()
        configuration.topicsPrefix = prefix
        configuration.instance = "i"
        store = try Store(path: folder + "/s")
        loop = DaemonLoop(
            configuration: .init(
                broker: "mqtt://h:1", prefix: prefix, instance: "i", readsEveryDataset: true, inputQoS: 0,
                status: StatusMessage(version: "1", instance: "i", startedAt: 0)),
            hub: Hub(configuration), store: store, heldFilters: ["old/#"],
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, health: Health())
    }

    func end() {
        try? store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Whether the loop takes the message for its own.
    func isOwn(_ topic: String, _ payload: String = "{}", retain: Bool = false) -> Bool {
        let (name, text) = (Array(topic.utf8), Array(payload.utf8))
        return name.withUnsafeBytes { name in
            text.withUnsafeBytes { text in
                loop.isOwn(
                    InboundMessage(topic: name, payload: text, retain: retain, qos: 1, responseTopic: nil, correlation: nil))
            }
        }
    }
}

private func withLoop(prefix: String = "", _ body: (LoopBench) async throws -> Void) async throws {
    let bench = try LoopBench(prefix: prefix)
    defer { bench.end() }
    try await body(bench)
}

@Suite("A session at the broker")
struct SessionTests {
    @Test("It begins away, knows nothing of the broker, and no two probes are the same")
    func start() {
        var session = Session()
        #expect(session.phase == .away && session.held.isEmpty && session.mark == nil && session.additions.isEmpty)
        let probes = (0..<100).map { _ in session.nextProbe() }
        #expect(Set(probes).count == probes.count && probes.last == String(session.probe))
    }

    @Test("The filters of an earlier life are known from the store")
    func held() async throws {
        try await withLoop { #expect($0.loop.session.held == ["old/#"]) }
    }

    @Test("Online is when the probe that is waited for comes back: no other, and none before", arguments: ["", "site/1/"])
    func probe(prefix: String) async throws {
        try await withLoop(prefix: prefix) { bench in
            let own = prefix + "geomatch/geomatch/i/request/probe/"
            let first = bench.loop.session.nextProbe()
            #expect(bench.isOwn(own + first))
            #expect(bench.loop.session.phase == .away)
            let second = bench.loop.session.nextProbe()
            bench.loop.session.phase = .probing(until: .max)
            #expect(bench.isOwn(own + first) && bench.isOwn(prefix + "geomatch/geomatch/j/request/probe/" + second))
            #expect(bench.loop.session.phase == .probing(until: .max))
            #expect(bench.isOwn(own + second))
            #expect(bench.loop.session.phase == .online)
            #expect(await bench.loop.health.firstOnline() == nil)
        }
    }

    @Test("Nobody else's topic is taken for the daemon's own", arguments: ["", "site/1/"])
    func foreign(prefix: String) async throws {
        try await withLoop(prefix: prefix) { bench in
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
        try await withLoop(prefix: "p/") { bench in
            let topic = "p/geomatch/geomatch/mark/i"
            #expect(bench.isOwn(topic, "5") && bench.loop.session.mark == nil)
            #expect(bench.isOwn(topic, "no number", retain: true) && bench.loop.session.mark == nil)
            #expect(bench.isOwn("p/geomatch/geomatch/mark/j", "6", retain: true) && bench.loop.session.mark == nil)
            #expect(bench.isOwn(topic, "7", retain: true) && bench.loop.session.mark == 7)
            #expect(bench.isOwn(topic, "8", retain: true) && bench.loop.session.mark == 7)
        }
    }

    @Test("A probe that never comes is a refusal that ends the start, at its time and not before")
    func noProbe() async throws {
        try await withLoop { bench in
            bench.loop.session.phase = .probing(until: 1000)
            bench.loop.checkProbe(at: 999)
            #expect(bench.loop.session.phase == .probing(until: 1000))
            bench.loop.checkProbe(at: 1000)
            #expect(bench.loop.session.phase == .refused)
            guard case .refused(let why) = await bench.loop.health.firstOnline() else {
                Issue.record("not refused")
                return
            }
            #expect(why.contains("access list"))
        }
    }

    @Test("A probe that comes after the refusal makes nothing online")
    func lateProbe() async throws {
        try await withLoop { bench in
            let probe = bench.loop.session.nextProbe()
            bench.loop.session.phase = .probing(until: 1000)
            bench.loop.checkProbe(at: 1000)
            #expect(bench.isOwn("geomatch/geomatch/i/request/probe/" + probe))
            #expect(bench.loop.session.phase == .refused)
        }
    }

    @Test("A lost connection is away, and its reason is kept for who waits")
    func lost() async throws {
        try await withLoop { bench in
            let causes: [MQTTDisconnect.Cause] = [
                .lost("reset #"), .unreachable("no route #"), .refused(.badCredentials, code: 5, text: "login #"),
            ]
            for cause in causes {
                bench.loop.session.phase = .online
                bench.loop.linkDisconnected(MQTTDisconnect(cause: cause, retryAfterSeconds: 0.123))
                #expect(bench.loop.session.phase == .away)
                #expect(bench.loop.health.lastReason.contains(" #"))
            }
        }
    }
}
