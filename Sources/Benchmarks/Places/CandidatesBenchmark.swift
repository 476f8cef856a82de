import ArgumentParser
import PlaceTrials
import Places

/// How right candidates are in simulated towns, and how fast they are ranked.
struct CandidatesBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "candidates",
        abstract: "Measures how right place candidates are in simulated towns.",
        discussion: """
            In the towns it is known at which place each device is. Of single fixes and of stays: how often the first candidate is \
            right, by how much its probability is off, and how much worse the probabilities are than those of who knows the whole town.
            """)

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func run() throws {
        var report = Report()
        try measure(into: &report)
        print(json ? report.json : report.table)
    }

    private func measure(into report: inout Report) throws {
        var random = SplitMix64(seed: 10)
        for density in [200.0, 1000, 3000] {
            for deviation in [5.0, 10, 20] {
                let trial = CandidateTrial(density: density, deviation: deviation, visits: 10_000)
                var outcome = CandidateTrial.Outcome()
                let elapsed = try seconds { outcome = try trial.run(&random) }
                let name = "candidates, \(Int(density))/km2, \(Int(deviation)) m"
                let share = 100 / outcome.atPlaces
                report.add(
                    "\(name): the first is right", outcome.firstRight * share, "%",
                    note:
                        "nearest \(figure(outcome.nearestRight * share)), among the first three \(figure(outcome.amongThree * share))"
                )
                report.add(
                    "\(name): the first one's probability is off by", outcome.calibrationError, "",
                    note: "on average; Brier score \(figure(outcome.brier))")
                report.add("\(name): ranked, simulation included", Double(trial.visits) / elapsed, "1/s")
            }
        }
    }
}
