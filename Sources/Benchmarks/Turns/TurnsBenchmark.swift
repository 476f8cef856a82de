import ArgumentParser
import DaemonCore
import Datasets
import Dispatch
import Glibc
import Logging
import Synchronization

/// `geomatch-bench turns`: how long requests about a very large dataset keep everybody else waiting.
struct TurnsBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "turns",
        abstract: "The longest turn of the loop that each of many requests costs, in a very large dataset.",
        discussion: """
            The core alone, on one thread: its log keeps nothing, and time is skipped where nothing is left to be done. No turn should take \
            more than 20 ms. Full size: --devices 200000 --clients 100000.
            """)

    @Option(help: "Devices with a position each.") var devices = 50_000
    @Option(help: "Clients whose circumstances name one place; as many subscriptions are reached by one publication.")
    var clients = 10_000

    func run() throws {
        let load = TurnsLoad()
        print("milliseconds of the longest turn, and of all turns together, until nothing is left to be done")
        fflush(nil)
        load.measure("\(devices) first positions, a thousand a turn") { load.place(devices) }
        load.measure("first geofence/create") { load.ask("geofence/create", Self.fence("small", 100)) }
        load.measure("geofence/create that holds all") { load.ask("geofence/create", Self.fence("large", 100_000)) }
        load.measure("geofence/update of it") { load.ask("geofence/update", #"{"id":"large","exitMargin":20}"#) }
        load.measure("geofence/delete of it") { load.ask("geofence/delete", #"{"id":"large"}"#) }
        load.measure("geofence/create around a device, that holds all") {
            load.ask("geofence/create", #"{"id":"around","area":{"around":"d0","radius":100000}}"#)
        }
        load.measure("a move of that device") { load.move(0, 43.71, 7.41) }
        load.measure("geofence/delete of it") { load.ask("geofence/delete", #"{"id":"around"}"#) }
        load.measure("first place/import") { load.ask("place/import", Self.places(0..<1)) }
        load.measure("place/import of 1,000") { load.ask("place/import", Self.places(1..<1001)) }
        load.measure("place/import, an outline of 9,000 vertices") { load.ask("place/import", Self.outline(9000)) }
        load.measure("circumstance/register of one place") {
            load.ask("circumstance/register", Self.circumstance("one", #"(at (= factual-id \"p0\"))"#))
        }
        load.measure("circumstance/register of all places") {
            load.ask("circumstance/register", Self.circumstance("all", "(near any-factual-place)"))
        }
        load.measure("circumstance/unregister of it") { load.ask("circumstance/unregister", #"{"id":"all"}"#) }
        load.measure("\(clients) clients name a place, each in a turn") {
            for number in 0..<clients {
                load.ask(
                    "circumstance/register", Self.circumstance("c\(number)", #"(at (= factual-id \"p0\"))"#),
                    client: "c\(number)")
            }
        }
        load.measure("place/import of that place") { load.ask("place/import", Self.places(0..<1, east: 0.001)) }
        load.measure("place/delete of that place") { load.ask("place/delete", #"{"id":"p0"}"#) }
        load.measure("category/import") { load.ask("category/import", #"{"categories":[{"id":"x","name":"X"}]}"#) }
        load.measure("dataset/update of the time zone") { load.ask("dataset/update", #"{"timeZone":"Europe/Paris"}"#) }
        load.measure("live/subscribe to all, with a snapshot") {
            load.ask("live/subscribe", #"{"id":"l","criteria":"d/#","where":"latitude > 0"}"#)
        }
        load.measure("the same in its place, within a box") {
            load.ask("live/subscribe", #"{"id":"l","criteria":"d/#","within":{"bbox":[7,43,8,44]}}"#)
        }
        load.measure("live/unsubscribe") { load.ask("live/unsubscribe", #"{"id":"l"}"#) }
        let subscribers = min(clients, devices - 1)
        load.measure("\(subscribers) subscriptions, each in a turn") {
            for number in 1...subscribers { load.ask("subscription/create", Self.subscription(number)) }
        }
        load.measure("publication/create that reaches nearly all of them") {
            load.ask(
                "publication/create",
                #"{"id":"p","deviceId":"d0","topic":"t","range":5000,"duration":3600,"properties":{"a":1}}"#)
        }
        load.measure("publication/delete of it") { load.ask("publication/delete", #"{"deviceId":"d0","id":"p"}"#) }
        load.measure("dataset/import of a building") { load.ask("dataset/import", Self.structure) }
        load.measure("dataset/update of derivedOccupancy") { load.ask("dataset/update", #"{"derivedOccupancy":true}"#) }
        load.measure("structure/delete") { load.ask("structure/delete", #"{"level":"venue","id":"v"}"#) }
        load.measure("dataset/update of livePositions") { load.ask("dataset/update", #"{"livePositions":"none"}"#) }
        load.measure("device/forget") { load.ask("device/forget", #"{"id":"d5"}"#) }
        load.measure("dataset/delete") { load.ask("dataset/delete", "{}") }
    }

    private static func fence(_ id: String, _ radius: Int) -> String {
        #"{"id":"\#(id)","area":{"circle":{"latitude":43.7,"longitude":7.4,"radius":\#(radius)}}}"#
    }

    private static func subscription(_ number: Int) -> String {
        #"{"id":"s","deviceId":"d\#(number)","topic":"t","range":5000,"duration":3600,"selector":"a = 1"}"#
    }

    private static func circumstance(_ id: String, _ expression: String) -> String {
        #"{"id":"\#(id)","expression":"\#(expression)","when":"arriving"}"#
    }

    private static func places(_ numbers: Range<Int>, east: Double = 0) -> String {
        collection(
            "places",
            numbers.map { number in
                let (latitude, longitude) = (43.7 + Double(number % 30) * 0.002, 7.4 + east + Double(number / 30) * 0.002)
                return #"{"type":"Feature","geometry":{"type":"Point","coordinates":[\#(longitude),\#(latitude)]},"#
                    + #""properties":{"id":"p\#(number)","name":"P"}}"#
            })
    }

    private static func outline(_ vertices: Int) -> String {
        var points = (0..<vertices).map { vertex in
            let angle = Double(vertex) / Double(vertices) * 2 * .pi
            return "[\(milli(7.45 + cos(angle) / 50)),\(milli(43.75 + sin(angle) / 50))]"
        }
        points.append(points[0])
        return collection(
            "places",
            [
                #"{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[\#(points.joined(separator: ","))]]},"#
                    + #""properties":{"id":"park","name":"P"}}"#
            ])
    }

    /// To a hundredth of a millimetre.
    private static func milli(_ degrees: Double) -> Double { (degrees * 1e9).rounded() / 1e9 }

    private static let structure = collection(
        "structure",
        [
            #"{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[7.4,43.7],[7.41,43.7],[7.41,43.71],[7.4,43.71],[7.4,43.7]]]},"#
                + #""properties":{"level":"venue","id":"v"}}"#
        ])

    private static func collection(_ key: String, _ features: [String]) -> String {
        #"{"\#(key)":{"type":"FeatureCollection","features":[\#(features.joined(separator: ","))]}}"#
    }
}

/// The system's clock, ahead by what was skipped.
private enum SkippingClock {
    private static let ahead = Atomic<Int64>(0)

    static let clock = CoreClock(
        now: { CoreClock.system.now() + ahead.load(ordering: .relaxed) },
        monotonic: { CoreClock.system.monotonic() + ahead.load(ordering: .relaxed) })

    static func skip(milliseconds: Int64) { ahead.wrappingAdd(milliseconds, ordering: .relaxed) }
}

/// A core whose turns are timed, all on one thread; the log keeps nothing, and everything that leaves arrives.
private final class TurnsLoad: Door {
    private let core: Core
    private let log = ImmediateLog()
    private var tokens: [UInt64] = []
    private var lastError: String?
    private var longest = 0.0
    private var total = 0.0

    init() {
        var configuration = HubConfiguration()
        configuration.limits.pendingMatches = 10_000_000
        configuration.limits.clientShare = 100
        configuration.administrators = AccessPatterns(["admin"])
        core = Core(
            hub: Hub(configuration), seed: (1, 2), clock: SkippingClock.clock,
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }, health: Health())
        core.log = log
        core.add(self)
        core.createDatasets(["d"])
        core.end()
        core.doorOpened(holding: nil)
    }

    func measure(_ name: String, _ body: () -> Void) {
        (longest, total) = (0, 0)
        lastError = nil
        body()
        settle()
        let error = lastError.map { "  \($0)" } ?? ""
        print("\(Self.text(longest, 10)) \(Self.text(total, 10))  \(name)\(error)")
        // Rows are shown as they come, also to a file.
        fflush(nil)
    }

    private static func text(_ milliseconds: Double, _ width: Int) -> String {
        let text = String((milliseconds * 10).rounded() / 10)
        return String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }

    /// Lets time pass until nothing is left, and for some ticks.
    private func settle() {
        let start = core.clock.monotonic()
        while true {
            timed { _ = core.tick() }
            confirm()
            // But for live states, which are written at their time.
            let isIdle = core.isSettled && !core.hub.isUnfinished && core.hub.isSettled && tokens.isEmpty
            if isIdle, !core.hub.hasStatesToWrite, core.clock.monotonic() - start > 1500 { return }
            if !core.hub.isSettled { timed { core.continueResync(count: 500) } }
            if isIdle { SkippingClock.skip(milliseconds: 20) }
        }
    }

    private func confirm() {
        while log.hasCompletions { timed { core.woken() } }
        let arrived = tokens
        tokens = []
        for start in stride(from: 0, to: arrived.count, by: 500) {
            timed {
                core.begin()
                for token in arrived[start..<min(start + 500, arrived.count)] { core.delivered(token, refusal: nil) }
                core.end()
            }
        }
    }

    private func timed(_ body: () -> Void) {
        let start = DispatchTime.now().uptimeNanoseconds
        body()
        let milliseconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e6
        longest = max(longest, milliseconds)
        total += milliseconds
    }

    func place(_ count: Int) {
        for start in stride(from: 0, to: count, by: 1000) {
            timed {
                core.begin()
                for number in start..<min(start + 1000, count) {
                    update(number, 43.65 + Double(number % 1000) * 0.0001, 7.35 + Double(number / 1000) * 0.0005)
                }
                core.end()
            }
            confirm()
        }
    }

    func move(_ number: Int, _ latitude: Double, _ longitude: Double) {
        timed {
            core.begin()
            update(number, latitude, longitude)
            core.end()
        }
    }

    private func update(_ number: Int, _ latitude: Double, _ longitude: Double) {
        Array("d/-/-/-/-/d\(number)/position".utf8).withUnsafeBytes { topic in
            Array(#"{"latitude":\#(latitude),"longitude":\#(longitude),"horizontalAccuracy":5}"#.utf8).withUnsafeBytes {
                core.receive(IncomingUpdate(topic: topic, payload: $0))
            }
        }
    }

    func ask(_ name: String, _ body: String, client: String = "admin") {
        timed {
            core.begin()
            Array(body.utf8).withUnsafeBytes { body in
                core.receive(
                    Envelope(dataset: "d", client: client, name: name, body: body, answer: ReturnAddress(door: 0, bytes: [])))
            }
            core.end()
        }
        confirm()
    }

    // MARK: Door

    var backlog: Int { 0 }
    func datasetsChanged() {}
    func wake() {}

    func send(_ batch: OutputBatch) {
        for item in batch.items {
            switch item.kind {
            case .notification(let notification): if notification.token != 0 { tokens.append(notification.token) }
            case .reply:
                let text = String(decoding: batch.bytes[item.payload].prefix(200), as: UTF8.self)
                if text.contains(#""error":"#) { lastError = text }
            default: continue
            }
        }
    }
}
