/// Reads months and dates: `Jan,Mar-May`, `Dec 24-26`, `2020 Dec 20-2021 Jan 6`, `easter -2 days`, `Mar Su[-1]-Oct Su[-1]`.
struct DatesReader {
    var cursor: TokenCursor
    var notes: Notes
    /// The year named last, which holds for the dates after it.
    private var year: Int16?
    /// The month of the date named last, for the days listed after it: `Dec 24,26`.
    private var month: Int?
    /// Whether the date that is read ends a range.
    private var isEnd = false

    init(cursor: TokenCursor, notes: Notes) {
        self.cursor = cursor
        self.notes = notes
    }

    mutating func read(into rule: inout Rule, text: inout String) throws(NotUnderstood) {
        repeat {
            if !text.isEmpty { text += "," }
            try readItem(into: &rule, text: &text)
        } while takeListMark()
    }

    private mutating func readItem(into rule: inout Rule, text: inout String) throws(NotUnderstood) {
        let named = readYear(&text)
        if named != nil { year = named }
        isEnd = false
        // A month alone, or a range of months, of any year.
        if case .month(let first)? = cursor.word(), !hasDay(after: 1), startsOnlyMonths(1) {
            return try readMonths(from: first, into: &rule, text: &text)
        }
        let from = try readPoint(year: year, text: &text)
        var range = DateRange(from: from)
        if cursor.isSymbol("+"), cursor.number(1) == nil || TimesReader.isTime(cursor, 1) {
            cursor.advance()
            range.isOpenEnd = true
            text += "+"
        } else if cursor.isRangeMark(), startsEnd(1) {
            cursor.advance()
            text += "-"
            let end = try readEnd(of: from, text: &text)
            if end.year != nil && from.year == nil || end.anchor == .easter && from.year != nil && end.year == nil {
                notes.add("a year is named at one end of a range of dates only")
            }
            range.to = end
            range.step = try readStep(&text)
        }
        rule.dates.append(range)
    }

    /// `/8` after a range: every eighth day from its first on.
    private mutating func readStep(_ text: inout String) throws(NotUnderstood) -> Int16 {
        guard cursor.take("/") else { return 1 }
        guard let step = cursor.number(), (1...366).contains(step) else { throw NotUnderstood("a step is expected after `/`") }
        cursor.advance()
        if step > 1 { text += "/\(step)" } else { notes.add("a step of 1 leaves the range as it is, or its first alone") }
        return Int16(step)
    }

    /// `Jan`, `Nov-Feb`, `2020 Nov-2021 Feb`.
    private mutating func readMonths(from first: Int, into rule: inout Rule, text: inout String) throws(NotUnderstood) {
        takeWord()
        text += Word.monthNames[first - 1]
        var last = first
        var lastYear: Int16?
        if cursor.isRangeMark() {
            cursor.advance()
            text += "-"
            lastYear = readYear(&text)
            guard case .month(let month)? = cursor.word() else { throw NotUnderstood("a month is expected after `-`") }
            takeWord()
            last = month
            text += Word.monthNames[last - 1]
        }
        self.month = nil
        guard year == nil && lastYear == nil else {
            let from = DatePoint(year: year, anchor: .day(month: UInt8(first), day: 1))
            // The 31st at the end of a range is the last day of the month.
            rule.dates.append(DateRange(from: from, to: DatePoint(year: lastYear, anchor: .day(month: UInt8(last), day: 31))))
            return
        }
        var month = first
        while month != last {
            rule.months |= 1 << UInt16(month - 1)
            month = month % 12 + 1
        }
        rule.months |= 1 << UInt16(last - 1)
    }

    /// Whether after a month nothing or another month follows, rather than a range that ends on a day.
    private func startsOnlyMonths(_ ahead: Int) -> Bool {
        if isNthDate(ahead) { return false }
        guard cursor.isRangeMark(ahead) else { return true }
        var next = ahead + 1
        if cursor.isYear(next) { next += 1 }
        guard case .month? = cursor.word(next) else { return !startsEnd(ahead + 1) }
        return !hasDay(after: next + 1) && !isNthDate(next + 1)
    }

    // MARK: - Dates

    private mutating func readPoint(year: Int16?, text: inout String) throws(NotUnderstood) -> DatePoint {
        var point: DatePoint
        if cursor.take(.easter) {
            point = DatePoint(year: year, anchor: .easter)
            text += "easter"
        } else if let day = cursor.number(), let month = monthAfterDay() {
            cursor.advance(cursor.isSymbol(".", 1) ? 3 : 2)
            _ = cursor.take(".")
            point = try date(month: month, day: day, year: year, text: &text)
        } else if let month, let day = cursor.number(), !isEnd {
            takeDay()
            point = try date(month: month, day: day, year: year, text: &text)
        } else if case .month(let month)? = cursor.word() {
            takeWord()
            if isNthDate(0) {
                point = try nth(month: month, year: year, text: &text)
            } else {
                let day = hasDay(after: 0) ? cursor.number() ?? 1 : 1
                if hasDay(after: 0) { takeDay() }
                self.month = month
                point = try date(month: month, day: day, year: year, text: &text)
            }
        } else {
            throw NotUnderstood("a date is expected")
        }
        try readOffset(of: &point, text: &text)
        return point
    }

    private func date(month: Int, day: Int, year: Int16?, text: inout String) throws(NotUnderstood) -> DatePoint {
        guard day >= 1 && day <= CalendarDay.days(in: month, of: 2000) else {
            throw NotUnderstood("\(Word.monthNames[month - 1]) has no day \(day)")
        }
        text += Word.monthNames[month - 1] + " " + LocalTime.padded(day, 2)
        return DatePoint(year: year, anchor: .day(month: UInt8(month), day: UInt8(day)))
    }

    private mutating func nth(month: Int, year: Int16?, text: inout String) throws(NotUnderstood) -> DatePoint {
        guard case .weekday(let weekday)? = cursor.word() else { throw NotUnderstood("a weekday is expected") }
        cursor.advance(2)
        let isFromEnd = cursor.take("-")
        guard let number = cursor.number(), (1...5).contains(number), cursor.isSymbol("]", 1) else {
            throw NotUnderstood("a number from 1 to 5 or -1 to -5 is expected in `[]`")
        }
        cursor.advance(2)
        let position = isFromEnd ? -number : number
        text += "\(Word.monthNames[month - 1]) \(Word.weekdayNames[weekday])[\(position)]"
        return DatePoint(year: year, anchor: .nth(month: UInt8(month), weekday: UInt8(weekday), position: Int8(position)))
    }

    /// Reads ` +1 day`, ` -Su`.
    private mutating func readOffset(of point: inout DatePoint, text: inout String) throws(NotUnderstood) {
        // `Dec 24+ Su` is an open end and a weekday, `Dec 24-Su` nothing at all.
        if cursor.isSymbol("+") || cursor.isSymbol("-") && cursor[0].isApart, !cursor[1].isApart,
            case .weekday(let weekday)? = cursor.word(1)
        {
            let isBefore = cursor.isSymbol("-")
            point.weekday = Int8(isBefore ? -weekday - 1 : weekday + 1)
            text += " \(isBefore ? "-" : "+")\(Word.weekdayNames[weekday])"
            cursor.advance(2)
        }
        point.offset = try cursor.readDayOffset(&text)
    }

    private mutating func readEnd(of from: DatePoint, text: inout String) throws(NotUnderstood) -> DatePoint {
        let named = readYear(&text)
        isEnd = true
        if let day = cursor.number(), monthAfterDay() == nil {
            let month = from.month
            guard from.anchor != .easter, day >= 1, day <= CalendarDay.days(in: month, of: 2000) else {
                throw NotUnderstood("a date is expected after `-`")
            }
            if case .day(_, let first) = from.anchor, first > day, named == nil {
                notes.add("dates that run backwards are read over the end of the year")
            }
            takeDay()
            text += LocalTime.padded(day, 2)
            var point = DatePoint(year: named, anchor: .day(month: UInt8(month), day: UInt8(day)))
            try readOffset(of: &point, text: &text)
            return point
        }
        if case .month(let month)? = cursor.word(), !hasDay(after: 1), !isNthDate(1) {
            takeWord()
            text += "\(Word.monthNames[month - 1]) \(CalendarDay.days(in: month, of: 2001))"
            return DatePoint(year: named, anchor: .day(month: UInt8(month), day: 31))
        }
        return try readPoint(year: named, text: &text)
    }

    // MARK: - Looking ahead

    private mutating func readYear(_ text: inout String) -> Int16? {
        guard cursor.isYear(), let number = cursor.number() else { return nil }
        cursor.advance()
        text += "\(number) "
        return Int16(number)
    }

    /// Whether the end of a range of dates begins here.
    private func startsEnd(_ ahead: Int) -> Bool {
        switch cursor.word(ahead) {
        case .month, .easter: return true
        default: break
        }
        if cursor.isYear(ahead) {
            switch cursor.word(ahead + 1) {
            case .month, .easter: return true
            default: return false
            }
        }
        guard let number = cursor.number(ahead) else { return false }
        return number <= 31 && cursor.digits(ahead) <= 2 && !TimesReader.isTime(cursor, ahead)
    }

    /// Whether a day of the month is next, after the month.
    private func hasDay(after ahead: Int) -> Bool {
        let place = cursor.isSymbol(".", ahead) ? ahead + 1 : ahead
        guard let number = cursor.number(place), cursor.digits(place) <= 2, (1...31).contains(number) else { return false }
        return !TimesReader.isTime(cursor, place)
    }

    private func monthAfterDay() -> Int? {
        guard cursor.digits() <= 2 else { return nil }
        if case .month(let month)? = cursor.word(1) { return month }
        if cursor.isSymbol(".", 1), case .month(let month)? = cursor.word(2) { return month }
        return nil
    }

    /// Whether `Su[1]` follows a month as part of a range of dates; alone it is a selector of its own and means the same.
    private func isNthDate(_ ahead: Int) -> Bool {
        guard case .weekday? = cursor.word(ahead), cursor.isSymbol("[", ahead + 1) else { return false }
        var place = ahead + 2
        if cursor.isSymbol("-", place) { place += 1 }
        guard cursor.number(place) != nil, cursor.isSymbol("]", place + 1) else { return false }
        place += 2
        if isEnd { return true }
        // `Jan Su[1] +2 days-Jan 20`
        if cursor.isDayOffset(place) { place += 3 }
        return cursor.isRangeMark(place) && startsEnd(place + 1)
    }

    private mutating func takeListMark() -> Bool {
        guard cursor.isListMark() else { return false }
        switch cursor.word(1) {
        case .month, .easter: break
        default:
            guard cursor.isYear(1) && startsEnd(1) || isDayInList() else { return false }
        }
        cursor.advance()
        return true
    }

    private func isDayInList() -> Bool { month != nil && hasDay(after: 1) }

    private mutating func takeWord() {
        cursor.advance()
        _ = cursor.take(".")
    }

    private mutating func takeDay() {
        _ = cursor.take(".")
        cursor.advance()
        // `24.` is an ordinal, and so are `1st` and its like.
        if cursor.isSymbol("."), !cursor[0].isApart { cursor.advance() }
        if case .word(let text) = cursor.kind, ["st", "nd", "rd", "th"].contains(text), !cursor[0].isApart { cursor.advance() }
    }
}
