import Foundation
import Matching
import Testing

@Suite("The engine and its naive twin agree")
struct TwinTests {
    static let shapes: [TwinRun.Shape] = [
        .init(name: "a few devices with mixed ranges"),
        .init(name: "one busy topic on a grid", devices: 90, topics: 1, entries: 170, weightOfEntries: 5),
        .init(
            name: "a dense cluster", devices: 60, topics: 1, ranges: [1...5, 10...15], spread: 60, steps: [0.5, 3, 40],
            entries: 150),
        .init(
            name: "mixed ranges on a grid over the antimeridian", devices: 80, topics: 1, centre: (-17, 180), spread: 8000,
            entries: 170),
        .init(name: "the north pole", devices: 80, topics: 1, centre: (89.995, 20), spread: 4000, entries: 170),
        .init(
            name: "the south pole, in small ranges", devices: 80, topics: 1, ranges: [5...60], centre: (-90, 0), spread: 300,
            steps: [1, 30, 200], entries: 170),
        .init(
            name: "the equator, long ranges, long steps", devices: 60, topics: 2, ranges: [1...5000], centre: (0, 0),
            spread: 9000, steps: [2000, 9000, 3_000_000], entries: 170),
        .init(name: "many topics", devices: 40, topics: 60, spread: 500, steps: [10, 100], entries: 150),
        .init(name: "a side that grows and loses its grid", devices: 25, topics: 1, entries: 130, weightOfEntries: 12),
        .init(
            name: "many selectors on one topic", devices: 60, topics: 1, spread: 1500, steps: [5, 200, 3000], entries: 260,
            weightOfEntries: 5, share: 60, selectors: many),
        .init(
            name: "selectors whose classes come and go", devices: 22, topics: 1, ranges: [300...900], spread: 1000,
            entries: 130, weightOfEntries: 11, selectors: many),
        .init(
            name: "a crowd in cells made fine", devices: 120, topics: 1, ranges: [200...300, 250...250], spread: 300,
            steps: [1, 10, 200], entries: 320, weightOfEntries: 2, share: 35, selectors: ["", "", "", "k < 3"]),
        .init(
            name: "a crowd under long ranges", devices: 110, topics: 1, ranges: [4500...5000],
            centre: (71, 30), spread: 9000, steps: [1, 50, 4000], entries: 320, weightOfEntries: 2, share: 35),
        .init(
            name: "eighty degrees north", devices: 80, topics: 1, ranges: [1...100, 2000...5000], centre: (80, -179.99),
            spread: 5000, entries: 170),
        .init(
            name: "still devices with the noise of GPS, some that jump across the town", devices: 110, topics: 1,
            ranges: [200...300], spread: 900, steps: [4, 4, 8, 8, 8, 8, 20_000], entries: 260, weightOfEntries: 2, share: 50,
            selectors: ["", "k < 3"], visits: 30, accuracyAware: 5),
        .init(
            name: "visits only, on a grid", devices: 60, topics: 1, ranges: [20...300], spread: 600, steps: [0.5, 5, 40, 300],
            entries: 170, visits: 100, accuracyAware: 0),
        .init(
            name: "accuracy and floors only, on a grid", devices: 60, topics: 1, ranges: [20...300], spread: 1500,
            steps: [0.5, 5, 40, 300], entries: 170, visits: 60, accuracyAware: 100),
        .init(
            name: "beacons and who sees them", devices: 16, topics: 2, ranges: [1...5, 20...300], spread: 500,
            steps: [5, 40, 300],
            entries: 60, weightOfEntries: 3, share: 300, beacons: 5),
        .init(
            name: "one beacon in a crowd", devices: 30, topics: 1, ranges: [50...400], spread: 500, steps: [5, 40, 300],
            entries: 90, weightOfEntries: 3, share: 200, visits: 80, accuracyAware: 10, beacons: 1),
        .init(
            name: "few partners each", devices: 40, topics: 2, ranges: [20...300], spread: 400, steps: [5, 40, 300],
            entries: 120, limits: EngineLimits(partnersPerSubscription: 3)),
        .init(
            name: "few pairs in all", devices: 40, topics: 2, ranges: [20...300], spread: 400, steps: [5, 40, 300], entries: 120,
            limits: EngineLimits(pairs: 100)),
    ]

    static let many =
        (0..<12).map { "price between \($0 * 8) and \($0 * 8 + 9)" } + (0..<4).map { "k = \($0) and name = 'a'" }
        + ["'x' = any (tags)", "tags = all ('x')", "k in (1, 2) and price > 20", "'y' = any (tags) or k = 2", "not k = 1", "k"]

    @Test("in random runs", arguments: shapes)
    func randomRuns(_ shape: TwinRun.Shape) throws {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["GEOMATCH_TEST_SEED"].flatMap(UInt64.init) ?? 1
        let count = environment["GEOMATCH_TEST_RUNS"].flatMap(UInt64.init) ?? 1
        let steps = environment["GEOMATCH_TEST_STEPS"].flatMap(Int.init) ?? 100
        var meetings = 0
        var begins = 0
        var ends = 0
        var crowds = 0
        for seed in first..<first + count {
            var run = try TwinRun(shape, seed: seed)
            if let wrong = run.run(steps: steps * shape.share / 100) {
                Issue.record("\(shape.name), seed \(seed): \(wrong)")
                return
            }
            meetings += run.meetings
            begins += run.begins
            ends += run.ends
            crowds += run.crowds
        }
        print(
            "\(shape.name): seeds \(first)…\(first + count - 1), \(meetings) meetings, \(begins) begins, \(ends) ends,",
            "\(crowds) crowds")
        #expect(meetings + begins > 0, "A run without a meeting tests nothing")
    }
}
