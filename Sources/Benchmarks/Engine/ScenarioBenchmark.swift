import ArgumentParser

/// Loads that ask for more than an even spread of movers does.
struct ScenarioBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario",
        abstract: "Measures the matching engine on loads of a special kind, on one core.",
        discussion: """
            selectors: 100,000 subscriptions in reach of one mover, with 1,000 selectors; and 100,000 publications in reach of a \
            moving subscription.

            city: a million devices, 80 % of them still with the noise of GPS, 100 entries of the other side within reach.

            fences: 23,000 clustered fences of 5 km and points set on the same places, after tidwall/tile38#491.
            """)

    enum Scenario: String, CaseIterable, ExpressibleByArgument {
        case selectors, city, fences
    }

    @Argument(help: "The loads; all by default.")
    var scenarios: [Scenario] = []

    @Option(help: "Devices of the city.")
    var devices = 1_000_000

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func run() throws {
        var report = Report()
        for scenario in scenarios.isEmpty ? Scenario.allCases : scenarios {
            switch scenario {
            case .city: try measureCity(&report)
            case .fences: try FenceTest().measure(into: &report)
            case .selectors: try SelectorHeavy().measure(into: &report)
            }
        }
        print(json ? report.json : report.table)
    }
}

extension ScenarioBenchmark {
    private func measureCity(_ report: inout Report) throws {
        for hasSelectors in [true, false] {
            try MixedCity(devices: devices, reach: 100, updates: 1_000_000, hasSelectors: hasSelectors).measure(into: &report)
        }
    }
}

/// A figure with three decimals.
func figure(_ value: Double) -> String { String((value * 1000).rounded() / 1000) }
