import PlaceTrials
import Places

/// How right candidates are in simulated towns, and how fast they are ranked.
struct CandidatesMeasurement {
    func measure(into report: inout Report) throws {
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
                    "\(name): Brier score", outcome.brier, "",
                    note: "the first one's probability is off by \(figure(outcome.calibrationError)) on average")
                report.add("\(name): ranked, simulation included", Double(trial.visits) / elapsed, "1/s")
            }
        }
    }
}
