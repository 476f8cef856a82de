import ArgumentParser
import OpeningHours

/// How fast opening hours are read, evaluated and searched for their next change.
struct HoursBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hours",
        abstract: "Reads, evaluates and searches opening hours; counts what is not understood.",
        discussion: "Values come from standard input with --lines, one on a line; else a dozen typical ones are used.")

    @Option(help: "Evaluations of each value.")
    var rounds = 20_000

    @Flag(help: "Read the values from standard input.")
    var lines = false

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    private static let typical = [
        "24/7", "Mo-Sa 10:00-19:00", "Mo-Fr 08:00-19:00; Sa 08:00-13:00; PH off", "Mo-Sa 10:00-12:30,14:30-19:00; Su off",
        "Mo-Th 11:00-02:00; Fr-Sa 11:00-03:00; Su 11:00-02:00",
        "Oct-Mar 10:00-18:00; Apr-Jun,Sep 10:00-19:00; Jul 10:00-20:00; Dec 25 off",
        "Jun 15-Jul 31 20:45-24:00; Aug 20:30-23:30; Sep 01-15 20:00-23:00", "Mo-Sa 18:00+", "sunrise-sunset",
        "Tu-Fr 14:00-19:00; Sa 10:00-16:00 || \"by appointment\"", "week 01-53/2 Fr[1,-1] 09:00-12:00; easter off", "16:00-04:45",
    ]

    func validate() throws {
        guard rounds >= 1 && rounds <= 100_000_000 else { throw ValidationError("--rounds must be 1 to 100,000,000") }
    }

    func run() {
        var values = Self.typical
        if lines {
            values = []
            while let line = readLine() { if !line.isEmpty { values.append(line) } }
        }
        var report = Report()
        let clock = ContinuousClock()
        var hours: [OpeningHours] = []
        let reading = clock.measure { hours = values.map { OpeningHours($0) } }
        let context = HoursContext(
            zone: Zone.named("Europe/Berlin") ?? .utc, latitude: 52.5, longitude: 13.4,
            publicHolidays: DayRanges(days: [20_089, 20_447]))
        report.add("values", Double(values.count), "")
        report.add("understood", Double(hours.count { $0.isUnderstood }), "")
        report.add("read with a warning", Double(hours.count { $0.isUnderstood && !$0.warnings.isEmpty }), "", note: "guesses")
        report.add("read", Double(values.count) / Self.seconds(reading), "1/s")

        let start: Int64 = 1_735_689_600_000
        var open = 0
        let evaluating = clock.measure {
            for round in 0..<rounds {
                let instant = start + Int64(round) * 7_919_000
                for value in hours where value.state(at: instant, in: context) == .open { open += 1 }
            }
        }
        let evaluations = Double(rounds * hours.count)
        report.add("state at an instant", evaluations / Self.seconds(evaluating), "1/s", note: "open in \(open)")

        let searches = max(1, rounds / 100)
        var changes = 0
        let searching = clock.measure {
            for round in 0..<searches {
                let instant = start + Int64(round) * 791_900_000
                for value in hours where value.nextChange(after: instant, in: context) != nil { changes += 1 }
            }
        }
        report.add("next change", Double(searches * hours.count) / Self.seconds(searching), "1/s", note: "found \(changes)")
        print(json ? report.json : report.table)
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}
