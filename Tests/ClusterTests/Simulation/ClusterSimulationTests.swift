import Foundation
import SeededRandom
import Testing

@Suite("A cluster under faults")
struct ClusterSimulationTests {
    private static let isLong = ProcessInfo.processInfo.environment["GEOMATCH_TEST_ALL"] != nil

    /// - Parameter part: Parts run beside each other.
    @Test(
        "One node commits at a time, all is served within five seconds, nothing acknowledged is lost, no stale owner speaks",
        arguments: 0..<(isLong ? 30 : 3))
    func faults(part: UInt64) throws {
        let seed = SplitMix64.seed() &+ part * 1000
        let runs: UInt64 = Self.isLong ? 100 : 8
        var requests = 0
        for run in seed..<seed + runs {
            let simulation = ClusterSimulation(seed: run, hasLateMessages: run % 2 == 0)
            simulation.run(faults: 15_000)
            requests += simulation.requestCount
            try #require(simulation.violations.isEmpty, "seed \(run): \(simulation.violations.prefix(5))")
        }
        #expect(requests > Int(runs) * 100)
    }

    @Test("Without one of the fences the same faults are found out", arguments: [(false, true), (true, false)])
    func withoutFences(isFenced: Bool, fallsSilent: Bool) {
        let seed = SplitMix64.seed()
        let isFoundOut = (seed..<seed + 150).contains { run in
            let simulation = ClusterSimulation(seed: run, isFenced: isFenced, fallsSilent: fallsSilent)
            simulation.run(faults: 15_000)
            return !simulation.violations.isEmpty
        }
        #expect(isFoundOut)
    }
}
