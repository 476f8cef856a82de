/// Reads weekdays and holidays: `Mo-Fr,Su[1,-1],PH`, `SH Mo-Fr`.
struct DaysReader {
    var cursor: TokenCursor
    var notes: Notes
    /// Whether the rule named no days before.
    private var isAlone = true

    init(cursor: TokenCursor, notes: Notes) {
        self.cursor = cursor
        self.notes = notes
    }

    mutating func read(into days: inout DayPattern, text: inout String) throws(NotUnderstood) {
        isAlone = days.isEmpty
        try readList(into: &days, text: &text, isOnlyHolidays: days.isEmpty)
    }

    /// - Parameter isOnlyHolidays: There is nothing but holidays so far.
    private mutating func readList(into days: inout DayPattern, text: inout String, isOnlyHolidays: Bool) throws(NotUnderstood) {
        if !text.isEmpty { text += "," }
        var isOnlyHolidays = isOnlyHolidays
        var isFirst = true
        repeat {
            if !isFirst { text += "," }
            isFirst = false
            if isHoliday() {
                try readHoliday(into: &days, text: &text)
            } else {
                try readWeekdays(into: &days, text: &text)
                isOnlyHolidays = false
            }
        } while takeListMark()
        try readNeighbour(isOnlyHolidays: isOnlyHolidays, into: &days, text: &text)
    }

    /// Days that follow without a comma: weekdays after holidays narrow them, holidays after weekdays are added, but for those that a
    /// colon or an offset sets apart, which are narrowed too.
    private mutating func readNeighbour(isOnlyHolidays: Bool, into days: inout DayPattern, text: inout String)
        throws(NotUnderstood)
    {
        let hasColon = cursor.isSymbol(":") && startsDays(1)
        guard hasColon || startsDays() else { return }
        if hasColon { cursor.advance() }
        if isOnlyHolidays && !isHoliday() {
            days.onlyOn = days.holidays
            days.holidays = []
            var weekdayText = ""
            var weekdays = DayPattern()
            try readList(into: &weekdays, text: &weekdayText, isOnlyHolidays: false)
            days.weekdays = weekdays.weekdays
            days.nth = weekdays.nth
            days.holidays = weekdays.holidays
            text += " " + weekdayText
        } else if isAlone, days.holidays.isEmpty, days.onlyOn.isEmpty, isHoliday(), hasColon || cursor.isDayOffset(1) {
            var holidays = DayPattern()
            var holidayText = ""
            repeat {
                if !holidayText.isEmpty { holidayText += "," }
                try readHoliday(into: &holidays, text: &holidayText)
            } while isHoliday(1) && takeListMark()
            days.onlyOn = holidays.holidays
            text = holidayText + " " + text
            guard !startsDays(), !(cursor.isListMark() && startsDays(1)) else { throw NotUnderstood("days after a holiday") }
        } else {
            notes.add("`,` is missing between days")
            try readList(into: &days, text: &text, isOnlyHolidays: isOnlyHolidays)
        }
    }

    private func startsDays(_ ahead: Int = 0) -> Bool {
        switch cursor.word(ahead) {
        case .weekday, .weekdays, .holiday, .holidayKind: true
        default: false
        }
    }

    private func isHoliday(_ ahead: Int = 0) -> Bool {
        switch cursor.word(ahead) {
        case .holiday, .holidayKind: true
        default: false
        }
    }

    private mutating func takeListMark() -> Bool {
        guard cursor.isListMark() else { return false }
        // `Mo, and Tu`, `Mo,,Tu`
        var ahead = 1
        while cursor.isListMark(ahead) && ahead < 3 { ahead += 1 }
        guard startsDays(ahead) else { return false }
        if cursor.isSymbol(",", 1) { notes.add("`,,` is read as `,`") }
        cursor.advance(ahead)
        return true
    }

    // MARK: - Holidays

    private mutating func readHoliday(into days: inout DayPattern, text: inout String) throws(NotUnderstood) {
        var part: DayPattern.HolidayPart
        switch cursor.word() {
        case .holiday(let holiday): part = DayPattern.HolidayPart(holiday: holiday)
        case .holidayKind(let holiday):
            guard case .holiday? = cursor.word(1) else { throw NotUnderstood("`holiday` is expected") }
            cursor.advance()
            part = DayPattern.HolidayPart(holiday: holiday)
        default: throw NotUnderstood("a holiday is expected")
        }
        cursor.advance()
        _ = cursor.take(".")
        text += part.holiday == .publicHoliday ? "PH" : "SH"
        part.offset = try readOffset(&text)
        days.holidays.append(part)
    }

    // MARK: - Weekdays

    private mutating func readWeekdays(into days: inout DayPattern, text: inout String) throws(NotUnderstood) {
        if case .weekdays(let mask)? = cursor.word() {
            cursor.advance()
            days.weekdays |= mask
            text += mask == 0b110_0000 ? "Sa-Su" : mask == 0b001_1111 ? "Mo-Fr" : "Mo-Su"
            return
        }
        let first = try weekday()
        text += Word.weekdayNames[first]
        if cursor.isSymbol("[") {
            var nth = DayPattern.NthWeekday(weekday: UInt8(first), positions: 0)
            nth.positions = try readPositions(&text)
            if cursor.isDayOffset(), let count = cursor.number(1), !(1...6).contains(count) {
                notes.add("an offset of \(count) days from a weekday")
            }
            nth.offset = try readOffset(&text)
            days.nth.append(nth)
        } else if cursor.isRangeMark(), case .weekday? = cursor.word(1) {
            cursor.advance()
            let last = try weekday()
            text += "-" + Word.weekdayNames[last]
            var day = first
            while day != last {
                days.weekdays |= 1 << UInt8(day)
                day = (day + 1) % 7
            }
            days.weekdays |= 1 << UInt8(last)
        } else {
            days.weekdays |= 1 << UInt8(first)
        }
    }

    private mutating func weekday() throws(NotUnderstood) -> Int {
        guard case .weekday(let index)? = cursor.word() else { throw NotUnderstood("a weekday is expected") }
        cursor.advance()
        _ = cursor.take(".")
        return index
    }

    /// Reads `[1,3]`, `[1-2]`, `[-1]`.
    private mutating func readPositions(_ text: inout String) throws(NotUnderstood) -> UInt16 {
        cursor.advance()
        text += "["
        var positions: UInt16 = 0
        repeat {
            let isFromEnd = cursor.take("-")
            guard let first = cursor.number(), (1...5).contains(first) else {
                throw NotUnderstood("a number from 1 to 5 or -1 to -5 is expected in `[]`")
            }
            cursor.advance()
            var last = first
            if !isFromEnd, cursor.isSymbol("-"), let end = cursor.number(1), (first...5).contains(end) {
                last = end
                cursor.advance(2)
            }
            for position in first...last { positions |= 1 << UInt16(isFromEnd ? position + 8 : position) }
            text += (text.hasSuffix("[") ? "" : ",") + (isFromEnd ? "-" : "") + String(first) + (last > first ? "-\(last)" : "")
        } while cursor.take(",")
        guard cursor.take("]") else { throw NotUnderstood("`]` is expected") }
        text += "]"
        return positions
    }

    /// Reads ` +1 day`, if it is there.
    private mutating func readOffset(_ text: inout String) throws(NotUnderstood) -> Int16 { try cursor.readDayOffset(&text) }
}

extension TokenCursor {
    /// Whether ` +1 day` is next.
    func isDayOffset(_ ahead: Int = 0) -> Bool {
        (isSymbol("+", ahead) || isSymbol("-", ahead)) && number(ahead + 1) != nil && word(ahead + 2) == .day
    }

    /// Reads ` +1 day` or ` -2 days`, if it is there; at most a year.
    mutating func readDayOffset(_ text: inout String) throws(NotUnderstood) -> Int16 {
        guard isDayOffset(), let count = number(1) else { return 0 }
        guard count <= 366 else { throw NotUnderstood("more than 366 days") }
        let sign = isSymbol("-") ? -1 : 1
        text += " \(sign < 0 ? "-" : "+")\(count) day\(count == 1 ? "" : "s")"
        advance(3)
        return Int16(sign * count)
    }
}
