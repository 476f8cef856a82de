import ArgumentParser

/// One program for every measurement: `geomatch-bench engine`.
@main
struct GeomatchBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "geomatch-bench",
        abstract: "Measures geomatch on this machine.",
        subcommands: [
            EngineBenchmark.self, ScenarioBenchmark.self, NoiseBenchmark.self, CriteriaBenchmark.self, LiveFanOut.self,
            EndToEnd.self, WebhookBenchmark.self, RangingBenchmark.self, PlacesBenchmark.self, CandidatesBenchmark.self,
            PlaceStoreBenchmark.self,
            HoursBenchmark.self, CircumstanceBenchmark.self, GeofenceBenchmark.self, SlowDiskBenchmark.self,
            HostileBenchmark.self, SyncBenchmark.self, ThreadsBenchmark.self, TurnsBenchmark.self, NoOpRelay.self,
        ])
}
