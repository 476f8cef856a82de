import Foundation
import Synchronization

/// The client that asks without end, and reads nothing.
final class Attacker: Sendable {
    private let port: Int
    private let readsOnly: Bool
    private let isOver = Atomic<Bool>(false)
    private let count = Atomic<Int>(0)
    private let running = Atomic<Int>(0)

    init(port: Int, readsOnly: Bool) {
        self.port = port
        self.readsOnly = readsOnly
    }

    /// A text that no search of the attacker's finds anything in.
    private static func text(_ length: Int) -> String { String(repeating: "a", count: length) }
    private static let pattern = "%\(text(31))b%"

    /// Four thousand documents of 200 bytes, live subscriptions that search texts, two outlines in one another, a session that is away.
    static func prepare(port: Int) throws {
        let client = try LeanClient(port: port, clientID: "bench-eve-0")
        try client.subscribe("geomatch/bench/eve/reply", qos: 0)
        func ask(_ request: String, _ parameters: String) throws {
            try client.ask(request, parameters, dataset: "bench", client: "eve")
        }
        for part in 0..<8 {
            try ask("changes/push", #"{"docs":[\#(documents(part * 500..<part * 500 + 500, bytes: 200))]}"#)
        }
        try ask("device/create", #"{"id":"eve","deviceType":"MobileDevice"}"#)
        for number in 0..<25 {
            try ask(
                "live/subscribe",
                #"{"id":"l\#(number)","criteria":"bench/#","where":"text LIKE '\#(pattern)' OR text LIKE '%\#(number)\#(pattern)'"}"#
            )
        }
        for isUp in [true, false] { try ask("place/import", place(isUp ? "up" : "down", comb(isUp: isUp))) }
        let parked = try LeanClient(port: port, clientID: "bench-eve-parked", isPersistent: true)
        try parked.subscribe("parked/#", qos: 1)
    }

    private static func documents(_ numbers: Range<Int>, bytes: Int) -> String {
        numbers.map { number in
            let revision = String(number + 1, radix: 16)
            let hash = String(repeating: "0", count: 32 - revision.count) + revision
            return
                #"{"id":"d\#(number)","type":"note","revision":"1-\#(hash)","text":"\#(String(repeating: "x", count: bytes))"}"#
        }.joined(separator: ",")
    }

    private static func place(_ id: String, _ geometry: String) -> String {
        #"{"places":{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"id":"\#(id)"},"geometry":\#(geometry)}]}}"#
    }

    /// An outline of 9,800 vertices that runs into its counterpart without touching it.
    private static func comb(isUp: Bool) -> String {
        func vertex(_ x: Int, _ y: Int) -> String { "[\(20 + Double(x) / 1e5),\(Double(isUp ? y : 1000 - y) / 1e5)]" }
        let offset = isUp ? 0 : 20
        var ring = [vertex(offset, 0)]
        for tooth in 0..<2449 {
            let x = offset + tooth * 40
            ring += [vertex(x, 900), vertex(x + 4, 900), vertex(x + 4, 50), vertex(x + 40, 50)]
        }
        ring += [vertex(offset + 2449 * 40, 0), vertex(offset, 0)]
        return #"{"type":"Polygon","coordinates":[[\#(ring.joined(separator: ","))]]}"#
    }

    /// As many vertices as an area may have.
    private static let star: String = {
        let ring = (0..<5000).map { number in
            let angle = 2 * Double.pi * Double(number) / 5000
            let radius = number % 2 == 0 ? 0.01 : 0.009
            return "[\(7 + radius * cos(angle)),\(43 + radius * sin(angle))]"
        }
        return #"{"type":"Polygon","coordinates":[[\#((ring + [ring[0]]).joined(separator: ","))]]}"#
    }()

    func start() {
        for body in readsOnly ? [attack] : [attack, connect] {
            running.add(1, ordering: .relaxed)
            Thread { [self] in
                // It would have a machine of its own: what it does with a core is not what it costs others.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                // Where it is cut off it comes again.
                while !isOver.load(ordering: .relaxed) {
                    try? body()
                    usleep(10_000)
                }
                running.subtract(1, ordering: .releasing)
            }.start()
        }
    }

    /// - Returns: How much it asked.
    func stop() -> Int {
        isOver.store(true, ordering: .relaxed)
        while running.load(ordering: .acquiring) > 0 { usleep(10_000) }
        return count.load(ordering: .relaxed)
    }

    private func attack() throws {
        let client = try LeanClient(port: port, clientID: "bench-eve")
        var number = 4000
        var round = 0
        while !isOver.load(ordering: .relaxed) {
            for _ in 0..<20 { ask("changes/get", #"{"since":0,"limit":1000}"#, client) }
            if !readsOnly {
                for _ in 0..<5 { ask("device/list", #"{"limit":1000}"#, client) }
                ask("changes/push", #"{"docs":[\#(Self.documents(number..<number + 20, bytes: 200))]}"#, client)
                number += 20
                searchTexts(client)
                if round % 10 == 0 { outline(round, client) }
                if round % 50 == 0 {
                    client.publish(topic: "parked/x", payload: [UInt8](repeating: 0x78, count: 1 << 20), qos: 1)
                }
                round += 1
            }
            // Blocks while the broker takes nothing.
            try client.flush()
            _ = try client.receive(milliseconds: 0) { _, _ in }
        }
    }

    /// What is searched as long as the budget of an evaluation lasts.
    private func searchTexts(_ client: LeanClient) {
        let text = Self.text(4000)
        ask(
            "subscription/create",
            #"{"deviceId":"eve","topic":"t","range":50,"duration":60,"selector":"p LIKE '\#(Self.pattern)' OR q LIKE '\#(Self.pattern)'"}"#,
            client)
        ask(
            "publication/create",
            #"{"deviceId":"eve","topic":"t","range":50,"duration":1,"properties":{"p":"\#(text)","q":"\#(text)"}}"#, client)
        client.publish(topic: "bench/-/-/-/-/eve/note", payload: Array(#"{"text":"\#(Self.text(60_000))"}"#.utf8))
    }

    /// After each change of a place, whether the two outlines are near each other is not known any more.
    private func outline(_ round: Int, _ client: LeanClient) {
        ask("place/import", Self.place("p\(round % 100)", #"{"type":"Point","coordinates":[30,1]}"#), client)
        ask("place/candidates", #"{"latitude":0.005,"longitude":20.00002,"horizontalAccuracy":10}"#, client)
        ask("geofence/delete", #"{"id":"star"}"#, client)
        ask("geofence/create", #"{"id":"star","area":\#(Self.star)}"#, client)
    }

    /// Connections that say nothing, and such as say that they are the daemon.
    private func connect() throws {
        var silent: [LeanClient] = []
        while !isOver.load(ordering: .relaxed) {
            if silent.count == 500 { silent.removeAll() }
            if let connection = try? LeanClient(silentAt: port) { silent.append(connection) }
            _ = try? LeanClient(port: port, clientID: "geomatchd-\(count.load(ordering: .relaxed))")
            usleep(10_000)
        }
    }

    private func ask(_ request: String, _ parameters: String, _ client: LeanClient) {
        client.publish(topic: "geomatch/bench/eve/request/\(request)", payload: Array(parameters.utf8), qos: 1)
        count.wrappingAdd(1, ordering: .relaxed)
    }
}
