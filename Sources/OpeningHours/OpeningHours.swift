/// The opening hours of a place in the OpenStreetMap `opening_hours` syntax, read once and evaluated often.
///
/// Reading never fails: a rule that is not understood makes the days it might concern unknown, and is reported in ``warnings``.
/// A value is one reference, so many places can share one that was read once.
///
/// Source: OpenStreetMap wiki, Key:opening_hours/specification, version 0.7.4. Where the wiki leaves a choice, that of the
/// widely used evaluators is followed: a normal rule replaces the earlier ones on each calendar day it selects, with what they
/// carried in from the day before; an open end (`17:00+`) is unknown from there on.
public struct OpeningHours: Sendable {
    /// The longest text that is read, in Unicode scalars; a longer one is unknown.
    public static let lengthMax = 4096
    /// The most rules in a text; one with more is unknown.
    public static let rulesMax = 128
    /// The most dates, nth weekdays, weeks, years and times in a text, all together; one with more is unknown.
    public static let partsMax = 512

    let schedule: Schedule

    /// Reads a text. What is not understood evaluates to ``OpenState/unknown``.
    public init(_ text: String) {
        schedule = HoursReader.read(text)
    }

    /// The text in canonical form, with the same meaning when it is read again. Rules that were not understood are kept as
    /// they were written.
    public var normalised: String { schedule.normalised }

    /// What was guessed or not understood, a sentence each; empty for well-formed text. At most 16.
    public var warnings: [String] { schedule.warnings }

    /// Whether everything was understood, guesses included.
    public var isUnderstood: Bool { schedule.isUnderstood }

    /// Whether the same state holds at all times and places, as with `24/7`.
    public var isConstant: Bool { schedule.rules.allSatisfy { $0.isAlways } }

    /// Whether a rule is about public holidays (`PH`), which takes a list of them.
    public var usesPublicHolidays: Bool { schedule.rules.contains { $0.uses(.publicHoliday) } }

    /// Whether a rule is about school holidays (`SH`).
    public var usesSchoolHolidays: Bool { schedule.rules.contains { $0.uses(.schoolHoliday) } }

    /// ``warnings`` and what the context lacks: coordinates for times of the sun, a list for holidays.
    public func warnings(in context: HoursContext) -> [String] {
        var all = warnings
        if schedule.rules.contains(where: { $0.usesSun }) && context.coordinates == nil {
            all.append("times of the sun are unknown without coordinates")
        }
        if context.publicHolidays.isEmpty && usesPublicHolidays { all.append(Self.publicHolidaysWarning) }
        if context.schoolHolidays.isEmpty && usesSchoolHolidays { all.append(Self.schoolHolidaysWarning) }
        return all
    }

    public static let publicHolidaysWarning = "without a list of public holidays `PH` never matches"
    public static let schoolHolidaysWarning = "without a list of school holidays `SH` never matches"
}

/// What a text says, in the form that is evaluated. One object for all places with the text.
final class Schedule: Sendable {
    let rules: [Rule]
    /// The comments of the rules, each once.
    let comments: [String]
    let normalised: String
    let warnings: [String]
    let isUnderstood: Bool
    /// Whether a rule reaches over midnight, so that the day before counts.
    let reachesTomorrow: Bool

    init(rules: [Rule], comments: [String], normalised: String, warnings: [String], isUnderstood: Bool) {
        self.rules = rules
        self.comments = comments
        self.normalised = normalised
        self.warnings = warnings
        self.isUnderstood = isUnderstood
        reachesTomorrow = rules.contains { $0.reachesTomorrow }
    }
}
