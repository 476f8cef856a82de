import ArgumentParser
import Wire

/// `geomatch eval hours`
struct HoursCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hours",
        abstract: "When OpenStreetMap opening_hours are open or unknown between two local times.",
        usage: """
            geomatch eval hours VALUE --from T --to T [--zone Z] [--lat N --lon N] [--ph DATES] [--sh RANGES]
            geomatch eval hours -
            """,
        discussion: """
            T is a wall-clock time of the place, YYYY-MM-DDTHH:MM, at most 10 years after the other. What is not understood is \
            unknown, with a warning. Lines: {"value","from","to","zone"?,"latitude"?,"longitude"?,"ph"?,"sh"?}, ph a list of dates, \
            sh a list of [from,to].

            Examples:
              geomatch eval hours 'Mo-Fr 08:00-18:00; PH off' \\
                  --from 2026-12-24T00:00 --to 2026-12-28T00:00 --ph 2026-12-25,2026-12-26
              geomatch eval hours sunrise-sunset --zone Europe/Oslo --lat 59.9 --lon 10.7 \\
                  --from 2026-06-21T00:00 --to 2026-06-22T00:00
              echo '{"value":"8-18","from":"2026-01-05T00:00","to":"2026-01-06T00:00"}' |
                  geomatch eval hours -
            """)

    @Option(help: ArgumentHelp("The first time.", valueName: "T"))
    var from: String?

    @Option(help: ArgumentHelp("The time to end at.", valueName: "T"))
    var to: String?

    @Option(help: ArgumentHelp("The IANA time zone of the place.", valueName: "Z"))
    var zone: String = "UTC"

    @Option(
        name: .customLong("lat"), parsing: .unconditional, help: ArgumentHelp("Latitude, for times of the sun.", valueName: "N"))
    var latitude: Double?

    @Option(name: .customLong("lon"), parsing: .unconditional, help: ArgumentHelp("Longitude.", valueName: "N"))
    var longitude: Double?

    @Option(name: .customLong("ph"), help: ArgumentHelp("Public holidays: YYYY-MM-DD,…", valueName: "DATES"))
    var publicHolidays: [String] = []

    @Option(name: .customLong("sh"), help: ArgumentHelp("School holidays: YYYY-MM-DD/YYYY-MM-DD,…", valueName: "RANGES"))
    var schoolHolidays: [String] = []

    @OptionGroup
    var output: OutputOptions

    @Argument(help: ArgumentHelp("The opening hours, or -.", valueName: "value"))
    var arguments: [String] = []

    func validate() throws {
        try check(arguments, wanted: "VALUE")
        guard arguments == ["-"] || (from != nil && to != nil) else { throw ValidationError("--from and --to are needed") }
    }

    func run() throws {
        if arguments == ["-"] {
            var lines = JSONLines(HoursEvaluation())
            return try lines.run()
        }
        var members: [(String, JSONValue)] = [("value", .string(arguments[0])), ("zone", .string(zone))]
        if let from { members.append(("from", .string(from))) }
        if let to { members.append(("to", .string(to))) }
        if let latitude { members.append(("latitude", .double(latitude))) }
        if let longitude { members.append(("longitude", .double(longitude))) }
        if !publicHolidays.isEmpty { members.append(("ph", Self.dates(publicHolidays.joined(separator: ",")))) }
        if !schoolHolidays.isEmpty { members.append(("sh", Self.ranges(schoolHolidays.joined(separator: ",")))) }
        try HoursEvaluation().printResult(of: JSONObject(members), asJSON: output.json)
    }

    /// The list of dates, as in a line; also one that is written as there.
    private static func dates(_ text: String) -> JSONValue {
        if let list = try? JSONValue.parse(text), list.asArray != nil { return list }
        return .array(text.split(separator: ",").map { .string(String($0)) })
    }

    /// The list of ranges, as in a line; also one that is written as there. A date alone is a range of one day.
    private static func ranges(_ text: String) -> JSONValue {
        if let list = try? JSONValue.parse(text), list.asArray != nil { return list }
        return .array(text.split(separator: ",").map { .array(ends(of: $0)) })
    }

    /// The dates of `2026-07-01/2026-07-31`; `..` and `:` do as well.
    private static func ends(of range: Substring) -> [JSONValue] {
        let separators = ["/", "..", ":"]
        guard let separator = separators.first(where: { range.contains($0) }) else {
            return [.string(String(range)), .string(String(range))]
        }
        return range.split(separator: separator).map { .string(String($0)) }
    }
}
