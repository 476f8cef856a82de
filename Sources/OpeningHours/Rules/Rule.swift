/// One rule of opening hours: which days it selects, at which times, and what holds then.
struct Rule: Sendable {
    /// How a rule relates to those before it.
    enum Joining: UInt8, Sendable {
        /// `;` replaces them on the days it selects, unless it only closes.
        case normal
        /// `,` adds to them.
        case additional
        /// `||` fills what they leave closed.
        case fallback
    }

    var joining = Joining.normal
    var state = OpenState.open
    /// Index of the comment + 1; 0 for none.
    var comment: UInt16 = 0
    /// Bit 0 is January; 0 when no whole months are named.
    var months: UInt16 = 0
    var years: [NumberRange] = []
    var weeks: [NumberRange] = []
    var dates: [DateRange] = []
    var days = DayPattern()
    /// Empty for the whole day.
    var spans: [TimeSpan] = []

    /// Whether it forgets what earlier rules say about a day it selects. One that only closes takes its times away and leaves the
    /// rest of the day.
    var replaces: Bool { joining == .normal && state != .closed }

    var isAlways: Bool {
        months == 0 && years.isEmpty && weeks.isEmpty && dates.isEmpty && days.isEmpty && spans.isEmpty
    }

    var usesSun: Bool { spans.contains { $0.usesSun } }

    var reachesTomorrow: Bool { spans.contains { $0.reachesTomorrow } }

    /// How many things evaluation may have to look at.
    var parts: Int {
        years.count + weeks.count + dates.count + spans.count + days.nth.count + days.holidays.count + days.onlyOn.count
    }

    func uses(_ holiday: DayPattern.Holiday) -> Bool {
        days.holidays.contains { $0.holiday == holiday } || days.onlyOn.contains { $0.holiday == holiday }
    }

    /// Whether the rule selects a day.
    func selects(_ day: CalendarDay, in context: HoursContext) -> Bool {
        if !years.isEmpty && !years.contains(where: { $0.contains(day.year) }) { return false }
        if months != 0 || !dates.isEmpty {
            guard months & (1 << UInt16(day.month - 1)) != 0 || dates.contains(where: { $0.contains(day) }) else { return false }
        }
        if !weeks.isEmpty {
            let week = day.week
            guard weeks.contains(where: { $0.contains(week) }) else { return false }
        }
        return days.isEmpty || days.contains(day, in: context)
    }
}

/// What holds in a minute: the state and, above its two bits, the number of the comment.
struct Finding: Equatable, Sendable {
    var bits: UInt16 = 0

    static let closed = Finding()

    init() {}

    init(_ state: OpenState, comment: UInt16) {
        // A comment on closed hours is never reported, and would only cut intervals in two.
        bits = state == .closed ? 0 : comment << 2 | UInt16(state.rawValue)
    }

    var state: OpenState { OpenState(rawValue: UInt8(bits & 3)) ?? .unknown }
    var comment: Int? { bits >> 2 == 0 ? nil : Int(bits >> 2) - 1 }
}

extension Rule {
    /// What the rule says within one of its spans.
    func finding(isOpenEnd: Bool) -> Finding {
        Finding(isOpenEnd && state == .open ? .unknown : state, comment: comment)
    }
}
