import ArgumentParser
import Matching

/// What noise does to a fence: events that are none, and how late a true end comes.
struct NoiseBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "noise",
        abstract:
            "Counts the false events of a device at rest inside a fence, for geofences and for several options of a visit.",
        discussion: """
            The fence's reach is 100 m. The device reports a fix every 10 s; its noise is normal in both directions with the given \
            sigma and a correlation of 60 s, and one fix in a hundred is off by another 40 to 150 m in any direction. It reports \
            1.5 sigma as its accuracy, the radius of 68 %; a fix that is off reports as much more as --honesty says. Every begin and end after the first \
            begin is a false event. Coarse fixes are off by a sigma of 200 to 1,700 m and report it; visits to a geofence are walks at \
            1.4 m/s with stays of 2 to 30 minutes. The delay is that of the end, for a device that walks out at 1.4 m/s or drives out at 14 m/s.
            """)

    @Option(help: "Hours the device is at rest, for each case.")
    var hours = 2000

    @Option(help: "How much of its error a fix that is off reports as its accuracy, 0 to 1.")
    var honesty = 0.0

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func validate() throws {
        guard hours >= 1 && hours <= 1_000_000 else { throw ValidationError("--hours must be 1 to 1,000,000") }
        guard honesty >= 0 && honesty <= 1 else { throw ValidationError("--honesty must be 0 to 1") }
    }

    func run() {
        var report = Report()
        measureFences(into: &report)
        for rule in NoiseRule.all {
            for (place, scene) in NoiseScene.all.enumerated() {
                var trial = NoiseTrial(scene: scene, honesty: honesty, options: rule.options, seed: 17)
                let rate = trial.falseEvents(hours: hours)
                report.add(
                    "\(rule.name); \(scene.name)", rate, "1/h", note: rule.reference.map { "published: \($0[place])" } ?? "")
            }
            for speed in [1.4, 14] {
                var trial = NoiseTrial(scene: .all[0], honesty: honesty, options: rule.options, seed: 18)
                let published = rule.delays.map { "published: \($0[speed < 2 ? 0 : 1])" } ?? ""
                report.add(
                    "\(rule.name); end delayed at \(speed) m/s", trial.delay(speed: speed, runs: 400), "s", note: published)
            }
        }
        print(json ? report.json : report.table)
    }
}

/// Options whose false events are counted, beside the published figures for the rule they represent.
struct NoiseRule {
    var name: String
    var options: MatchOptions
    /// For each scene, events an hour.
    var reference: [String]?
    /// Seconds walking and driving.
    var delays: [String]?

    private init(
        _ name: String, _ accuracy: MatchOptions.Accuracy, margin: Double, dwell: Int64 = 0, reference: [String]? = nil,
        delays: [String]? = nil
    ) {
        self.name = name
        options = MatchOptions(mode: .visit, matchTTL: 0, matchDTL: 0, exitMargin: margin, dwell: dwell, accuracy: accuracy)
        self.reference = reference
        self.delays = delays
    }

    static let all = [
        NoiseRule("centre, margin 0 m", .centre, margin: 0, reference: ["66", "7.6", "66"], delays: ["4", "4"]),
        NoiseRule("centre, margin 20 m", .centre, margin: 20, reference: ["8.2", "3.8", "24"], delays: ["20", "7"]),
        NoiseRule("centre, margin 20 m, dwell 60 s", .centre, margin: 20, dwell: 60_000),
        NoiseRule("centre, margin 100 m", .centre, margin: 100),
        NoiseRule("certain, margin 20 m", .certain, margin: 20),
        NoiseRule("certain, margin 100 m", .certain, margin: 100),
        NoiseRule("likely, margin 10 m", .likely, margin: 10),
        NoiseRule("possible, margin 20 m", .possible, margin: 20, reference: ["0.76", "0.54", "2.7"], delays: ["29", "7"]),
        NoiseRule("possible, margin 50 m", .possible, margin: 50),
        NoiseRule("possible, margin 100 m", .possible, margin: 100),
        NoiseRule("possible, margin 150 m", .possible, margin: 150, reference: ["0.01", "0.00", "0.83"], delays: ["40", "18"]),
    ]
}

/// How noisy the fixes are and where the device is.
struct NoiseScene {
    var name: String
    /// Metres, in each direction.
    var sigma: Double
    /// Metres from the fence.
    var inside: Double

    static let all = [
        NoiseScene(name: "sigma 10 m, 2 m inside", sigma: 10, inside: 2),
        NoiseScene(name: "sigma 10 m, 25 m inside", sigma: 10, inside: 25),
        NoiseScene(name: "sigma 20 m, 2 m inside", sigma: 20, inside: 2),
    ]
}
