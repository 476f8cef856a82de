/// A date in a rule, of one year or of every year.
struct DatePoint: Sendable, Equatable {
    enum Anchor: Sendable, Equatable {
        /// Month 1 to 12, day 1 to 31. A day the month does not have is its last one at the end of a range, and none else.
        case day(month: UInt8, day: UInt8)
        case easter
        /// The nth (1 to 5, or -1 to -5 from the end) of a weekday (0 is Monday) in a month.
        case nth(month: UInt8, weekday: UInt8, position: Int8)
    }

    var year: Int16?
    var anchor: Anchor
    /// Days after the anchor.
    var offset: Int16 = 0
    /// The first such weekday after (`Dec 25 +Su`), or the last before, what the offset gives: 1 to 7 after, -1 to -7 before.
    var weekday: Int8 = 0

    /// The month that it is mostly in.
    var month: Int {
        switch anchor {
        case .day(let month, _), .nth(let month, _, _): Int(month)
        case .easter: 4
        }
    }

    /// Whether a range from here to a date ends in the next year.
    fileprivate func isLaterInYear(than other: DatePoint) -> Bool {
        guard month == other.month, case .day(_, let day) = anchor, case .day(_, let last) = other.anchor else {
            return month > other.month
        }
        return day > last || offset != 0 || weekday != 0 || other.offset != 0 || other.weekday != 0
    }

    /// The day in a year; nil when the year has none. At the end of a range a month's missing day is its last.
    func number(in year: Int, isEnd: Bool) -> Int? {
        let year = self.year.map { Int($0) } ?? year
        guard var number = anchorNumber(in: year, isEnd: isEnd) else { return nil }
        if weekday > 0 {
            let target = Int(weekday) - 1
            number += (target - CalendarDay.weekday(of: number) + 6) % 7 + 1
        } else if weekday < 0 {
            let target = -Int(weekday) - 1
            number -= (CalendarDay.weekday(of: number) - target + 6) % 7 + 1
        }
        return number + Int(offset)
    }

    private func anchorNumber(in year: Int, isEnd: Bool) -> Int? {
        switch anchor {
        case .easter: return CalendarDay.easter(of: year)
        case .day(let month, let day):
            let last = CalendarDay.days(in: Int(month), of: year)
            if day > last && !isEnd { return nil }
            return CalendarDay.number(year: year, month: Int(month), day: min(Int(day), last))
        case .nth(let month, let weekday, let position):
            let days = CalendarDay.days(in: Int(month), of: year)
            let first = CalendarDay.number(year: year, month: Int(month), day: 1)
            let day: Int
            if position > 0 {
                day = (Int(weekday) - CalendarDay.weekday(of: first) + 7) % 7 + (Int(position) - 1) * 7
            } else {
                let last = first + days - 1
                day = days - 1 - (CalendarDay.weekday(of: last) - Int(weekday) + 7) % 7 + (Int(position) + 1) * 7
            }
            return day >= 0 && day < days ? first + day : nil
        }
    }
}

/// A range of dates in a rule, both ends included.
struct DateRange: Sendable, Equatable {
    var from: DatePoint
    /// Nil for a single date.
    var to: DatePoint?
    /// `Dec 24+`: until the end of the year, or for good when a year is named.
    var isOpenEnd = false
    /// Every so many days from the first on.
    var step: Int16 = 1

    func contains(_ day: CalendarDay) -> Bool {
        if from.year != nil { return contains(day, startingIn: day.year) }
        if let to, step == 1, from.anchor == .easter || to.anchor == .easter { return containsAroundEaster(day, to) }
        // A range may begin in the year before, and offsets may carry a date into the next.
        for year in (day.year - 1)...(day.year + 1) where contains(day, startingIn: year) { return true }
        return false
    }

    private func contains(_ day: CalendarDay, startingIn year: Int) -> Bool {
        guard let start = startNumber(in: year), day.number >= start else { return false }
        if isOpenEnd {
            return from.year != nil || day.number <= CalendarDay.number(year: year, month: 12, day: 31)
        }
        guard let to else { return day.number == start }
        guard let end = endNumber(to, startingIn: from.year.map { Int($0) } ?? year, at: start), day.number <= end else {
            return false
        }
        return step == 1 || (day.number - start) % Int(step) == 0
    }

    /// Easter moves: whether a range is the inner or the outer part of a year is that year's own matter.
    private func containsAroundEaster(_ day: CalendarDay, _ to: DatePoint) -> Bool {
        guard let start = startNumber(in: day.year), let end = to.number(in: day.year, isEnd: true) else { return false }
        if start <= end { return (start...end).contains(day.number) }
        return to.year == nil && (day.number >= start || day.number <= end)
    }

    private func endNumber(_ to: DatePoint, startingIn year: Int, at start: Int) -> Int? {
        guard let end = to.number(in: year, isEnd: true) else { return nil }
        if end >= start { return end }
        return to.year == nil && from.isLaterInYear(than: to) ? to.number(in: year + 1, isEnd: true) : nil
    }

    /// A range that begins on a day the year lacks (February 29) begins on the next.
    private func startNumber(in year: Int) -> Int? {
        if let number = from.number(in: year, isEnd: false) { return number }
        guard to != nil, case .day = from.anchor, let last = from.number(in: year, isEnd: true) else { return nil }
        return last + 1
    }
}

/// A range of years or weeks with a step: `2013-2020/2`, `week 45-10`.
struct NumberRange: Sendable, Equatable {
    var from: Int16
    var to: Int16
    var step: Int16 = 1

    func contains(_ number: Int) -> Bool {
        let number = Int16(clamping: number)
        return number >= from && number <= to && (number - from) % step == 0
    }
}
