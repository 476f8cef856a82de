import Foundation
import SeededRandom
import Testing

@Suite("The whole daemon on virtual time, network and disk")
struct SimulationTests {
    /// How many runs a part makes, by `GEOMATCH_SIMULATIONS`.
    private static let runs =
        ProcessInfo.processInfo.environment["GEOMATCH_SIMULATIONS"].flatMap { Int($0) }
        ?? (ProcessInfo.processInfo.environment["GEOMATCH_TEST_ALL"] == nil ? 20 : 100)
    private static let parts = 8

    /// To replay a failure: `GEOMATCH_SIMULATION_SEED`, as it was printed, runs that one alone.
    private static let replayed = ProcessInfo.processInfo.environment["GEOMATCH_SIMULATION_SEED"].flatMap { UInt64($0) }

    @Test("No acknowledged request and no match is lost, and none comes under two ids, whatever dies", arguments: 0..<parts)
    func survivesEverything(_ part: Int) {
        if let seed = Self.replayed {
            if part == 0 { check(seed) }
            return
        }
        let first = SplitMix64.seed() &+ UInt64(part) &* 1_000_003
        var crashes = 0
        var matches = 0
        var takeovers = 0
        for run in 0..<Self.runs {
            let (failed, simulation) = check(first &+ UInt64(run))
            crashes += simulation.crashes
            matches += simulation.twin.met.count
            takeovers += simulation.takeovers
            if failed { return }
        }
        // Runs in which nothing happened would say nothing.
        #expect(crashes > Self.runs && matches > Self.runs && takeovers > Self.runs / 4)
    }

    @discardableResult
    private func check(_ seed: UInt64) -> (failed: Bool, Simulation) {
        let simulation = Simulation(seed: seed)
        if Self.replayed != nil { simulation.trace = { print($0) } }
        simulation.run(steps: 120)
        let wrong = simulation.verify()
        #expect(wrong.isEmpty, "GEOMATCH_SIMULATION_SEED=\(seed): \(wrong.prefix(5).joined(separator: "; "))")
        return (!wrong.isEmpty, simulation)
    }
}
