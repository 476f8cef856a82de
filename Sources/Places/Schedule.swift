/// The days that `PH` and `SH` mean in a place's opening hours, as local dates `YYYY-MM-DD`; nothing here reads them.
public struct Holidays: Hashable, Sendable {
    /// Public holidays.
    public var publicDays: [String]
    /// School holidays, first and last day.
    public var schoolRanges: [ClosedDays]

    public static let none = Holidays(publicDays: [], schoolRanges: [])

    /// From a first day to a last one, both included.
    public struct ClosedDays: Hashable, Sendable {
        public var first, last: String

        public init(first: String, last: String) {
            self.first = first
            self.last = last
        }
    }

    public init(publicDays: [String], schoolRanges: [ClosedDays]) {
        self.publicDays = publicDays
        self.schoolRanges = schoolRanges
    }
}

/// What opening hours are evaluated from, shared by all places that have the same: what is known of one of its
/// instants holds for each of them, unless the hours ask for sunrise or sunset.
public struct Schedule: Hashable, Sendable {
    /// nil: no hours are known, yet there is a time zone for local time.
    public var openingHours: String?
    public var timeZone: String?
    public var holidays: Holidays

    public init(openingHours: String?, timeZone: String?, holidays: Holidays) {
        self.openingHours = openingHours
        self.timeZone = timeZone
        self.holidays = holidays
    }

    /// By bytes: comments in hours may differ in nothing else.
    public static func == (left: Self, right: Self) -> Bool {
        left.openingHours.map(ExactText.init) == right.openingHours.map(ExactText.init)
            && left.timeZone.map(ExactText.init) == right.timeZone.map(ExactText.init) && left.holidays == right.holidays
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(openingHours.map(ExactText.init))
        hasher.combine(timeZone.map(ExactText.init))
        hasher.combine(holidays)
    }
}
