import SeededRandom
import Testing

@testable import Matching

@Suite("Who sees whom")
struct SightsTests {
    private struct Pair: Hashable {
        var low: UInt32
        var high: UInt32

        init(_ a: UInt32, _ b: UInt32) { (low, high) = (min(a, b), max(a, b)) }

        func other(than device: UInt32) -> UInt32 { low == device ? high : low }
    }

    @Test("agrees with a dictionary over random sightings and ends, and names partners in order")
    func twin() {
        var random = SplitMix64.forTest()
        var sightings = Sightings()
        var twin: [Pair: Double] = [:]
        var order: [Pair] = []
        for step in 0..<20_000 {
            // Mostly more than ends, then mostly ends, down to none.
            let (a, b) = (UInt32(random.below(60)), UInt32(60 + random.below(60)))
            let pair = Pair(a, b)
            switch random.below(10) {
            case 0:
                sightings.removeAll(of: a)
                twin = twin.filter { $0.key.low != a }
                order.removeAll { $0.low == a }
            case 1...(step % 4_000 < 2_000 ? 2 : 8):
                sightings.remove(b, a)
                twin[pair] = nil
                order.removeAll { $0 == pair }
            default:
                sightings.put(Sightings.Sighting(distance: Double(step), seenAt: Int64(step)), a, b)
                if twin.updateValue(Double(step), forKey: pair) == nil { order.append(pair) }
            }
            guard sightings[a, b]?.distance == twin[pair], sightings[b, a]?.distance == twin[pair],
                sightings.isEmpty == twin.isEmpty
            else {
                Issue.record("step \(step): \(String(describing: sightings[a, b])), expected \(String(describing: twin[pair]))")
                return
            }
            let device = random.chance(50) ? a : b
            let partners = order.filter { $0.low == device || $0.high == device }.map { $0.other(than: device) }
            guard sightings.partners(of: device) == partners else {
                Issue.record("step \(step): \(sightings.partners(of: device)), expected \(partners)")
                return
            }
        }
        for device in 0..<UInt32(60) { sightings.removeAll(of: device) }
        #expect(sightings.isEmpty && sightings.bytes == Sightings().bytes)
    }

    @Test("a pair takes less than 64 bytes where many are seen")
    func memory() {
        var sightings = Sightings()
        for observer in 0..<UInt32(500) {
            for beacon in 0..<UInt32(100) { sightings.put(.init(distance: 1, seenAt: 1), observer, 500 + beacon) }
        }
        #expect(sightings.bytes / 50_000 < 64)
    }
}
