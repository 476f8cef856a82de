import ArgumentParser

@main
struct GeomatchBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "geomatch-bench",
        abstract: "Measures geomatch on this machine.",
        subcommands: [
            EngineBenchmark.self, ScenarioBenchmark.self, CriteriaBenchmark.self, PlacesBenchmark.self, PlaceStoreBenchmark.self,
            NoiseBenchmark.self,
            RangingBenchmark.self, EndToEnd.self, CircumstanceBenchmark.self,
            LiveFanOut.self,
            HoursBenchmark.self,
            NoOpRelay.self,
            WebhookBenchmark.self,
            SyncBenchmark.self,
        ])
}
