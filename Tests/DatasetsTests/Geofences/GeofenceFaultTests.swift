import SeededRandom
import Testing
import Wire

@testable import Datasets

/// What the events of geofences say: who is inside.
private struct Listener {
    var inside: [String: Set<String>] = [:]
    private var seen: Set<String> = []
    private(set) var faults: [String] = []

    mutating func hear(_ published: [HubHarness.Published]) {
        for message in published where message.topic.contains("/geofence/") {
            guard let event = message.json, let id = event["id"]?.text, seen.insert(id).inserted,
                let fence = event["geofence"]?.text, let device = event["deviceId"]?.text, let word = event["event"]?.text
            else { continue }
            switch word {
            case "entered":
                if !inside[fence, default: []].insert(device).inserted { faults.append("\(device) entered \(fence) twice") }
            case "exited": if inside[fence, default: []].remove(device) == nil { faults.append("\(device) left \(fence) twice") }
            default: break
            }
        }
    }
}

@Suite("Geofences under random faults")
struct GeofenceFaultTests {
    @Test(
        "Events, `inside` and presence say the same over moves, changes, kills and a full disk", arguments: 0..<3)
    func faults(_ run: UInt64) throws {
        var random = SplitMix64(seed: SplitMix64.seed() &+ run)
        walk(HubHarness(), &random, steps: 500)
    }

    @Test("The same where the engine is shown one device in a turn, and one event reported", arguments: 0..<40)
    func portions(_ run: UInt64) throws {
        var random = SplitMix64(seed: SplitMix64.seed() &+ run)
        let harness = HubHarness { $0.limits.portion = 1 }
        // A tick is a portion.
        harness.clockStep = 2
        harness.batch(
            (0..<5).map { number in
                let latitude = 43.73 + Double(random.below(50)) / 1e4
                return HubHarness.Message("d/-/-/-/-/p\(number)/position", #"{"lat":\#(latitude),"lon":7.42}"#)
            })
        walk(harness, &random, steps: 60)
    }

    private func walk(_ harness: HubHarness, _ random: inout SplitMix64, steps: Int) {
        harness.acknowledges = true
        _ = harness.request("dataset/create", client: "admin")
        var listener = Listener()
        var isFull = false
        for step in 0..<steps {
            harness.now += Int64(random.below(40_000))
            let fence = "f\(random.below(4))"
            let device = "p\(random.below(5))"
            let radius = random.pick([50, 200, 700])
            switch random.below(100) {
            case 0..<8:
                let accuracy = random.pick(["centre", "likely", "possible"])
                let area = random.pick([HubHarness.circle(Double(radius)), #"{"around":"p0","radius":\#(radius)}"#])
                _ = harness.request("geofence/create", #"{"id":"\#(fence)","area":\#(area),"accuracy":"\#(accuracy)"}"#)
            case 8..<12:
                _ = harness.request("geofence/update", #"{"id":"\#(fence)","area":\#(HubHarness.circle(Double(radius)))}"#)
            case 12..<14: _ = harness.request("geofence/update", #"{"id":"\#(fence)","enabled":\#(random.chance(70))}"#)
            case 14..<17: _ = harness.request("geofence/delete", #"{"id":"\#(fence)"}"#)
            case 17..<19: harness.send("d/-/-/-/-/\(device)/position", "")
            case 19..<21: _ = harness.request("device/delete", #"{"id":"\#(device)"}"#, client: "admin")
            case 21..<24:
                if isFull { harness.heal() } else { harness.isDiskFull = true }
                isFull.toggle()
            case 24..<27 where !isFull: harness.restart(killed: random.chance(50))
            case 27..<33: harness.advance(milliseconds: 1000)
            default:
                harness.move(device, metres: Double(random.below(900)), extra: #","acc":\#(random.pick([1, 30, 150]))"#)
            }
            listener.hear(harness.published)
            harness.published.removeAll()
            guard !isFull else { continue }
            if harness.clockStep > 0, random.chance(70) {
                harness.advance(milliseconds: 100)
                listener.hear(harness.published)
                harness.published.removeAll()
                continue
            }
            harness.advance(milliseconds: 200)
            while harness.hub.isUnfinished { harness.advance(milliseconds: 100) }
            listener.hear(harness.published)
            guard listener.faults.isEmpty else {
                Issue.record("step \(step): \(listener.faults)")
                return
            }
            for number in 0..<4 {
                let reported = listener.inside["f\(number)", default: []].sorted()
                guard harness.inside("f\(number)") == reported else {
                    Issue.record("step \(step): f\(number) holds \(harness.inside("f\(number)")), events say \(reported)")
                    return
                }
            }
            for number in 0..<5 {
                let holding = listener.inside.filter { $0.value.contains("p\(number)") }.keys.sorted()
                let presence = harness.retained["live/d/-/-/-/-/p\(number)/presence"].flatMap { try? JSONValue.parse($0) }
                let said = presence?["properties"]?["geofences"]?.elements.compactMap(\.text) ?? []
                guard said == holding else {
                    Issue.record("step \(step): p\(number) is in \(holding), presence says \(said)")
                    return
                }
            }
        }
    }
}
