import OpeningHours
import Testing

/// Opening hours and what they must say between the midnights that begin two days, one interval a line, as in ``listing``.
struct HoursCase: Sendable, CustomTestStringConvertible {
    var value: String
    var from: String
    var to: String
    var expected: [String]

    init(_ value: String, _ from: String, _ to: String, _ expected: [String]) {
        self.value = value
        self.from = from
        self.to = to
        self.expected = expected
    }

    var testDescription: String { value }
}

/// The intervals between the midnights that begin two days: `10-01 08:00 10-01 12:00 open`, years left out.
func listing(_ hours: OpeningHours, from: String, to: String, in context: HoursContext = HoursContext(zone: .utc)) throws
    -> [String]
{
    let start = try #require(LocalTime(from + "T00:00"))
    let end = try #require(LocalTime(to + "T00:00"))
    return hours.intervals(from: start, to: end, in: context).map { interval in
        let comment = interval.comment.map { " " + $0 } ?? ""
        return "\(short(interval.from)) \(short(interval.to)) \(interval.state)\(comment)"
    }
}

private func short(_ time: LocalTime) -> String {
    String(time.description.dropFirst(5)).replacing("T", with: " ")
}

/// Days of the calendar, from their dates.
func days(_ dates: String...) throws -> DayRanges {
    DayRanges(days: try dates.map { try #require(LocalTime.date($0)).number })
}
