import ArgumentParser

/// Loads that ask for more than an even spread of movers does.
struct ScenarioBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario",
        abstract: "Measures the matching engine on loads of a special kind, on one core.",
        discussion: """
            selectors: 100,000 subscriptions in reach of one mover, with 1,000 selectors; and 100,000 publications in reach of a \
            moving subscription.
            """)

    enum Scenario: String, CaseIterable, ExpressibleByArgument {
        case selectors
    }

    @Argument(help: "The loads; all by default.")
    var scenarios: [Scenario] = []

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func run() throws {
        var report = Report()
        for scenario in scenarios.isEmpty ? Scenario.allCases : scenarios {
            switch scenario {
            case .selectors: try SelectorHeavy().measure(into: &report)
            }
        }
        print(json ? report.json : report.table)
    }
}

/// A figure with three decimals.
func figure(_ value: Double) -> String { String((value * 1000).rounded() / 1000) }
