/// Reads weekdays and holidays: `Mo-Fr,Su[1,-1],PH`, `SH Mo-Fr`.
struct DaysReader {
    var cursor: TokenCursor
    var notes: Notes

    mutating func read(into days: inout DayPattern, text: inout String) throws(NotUnderstood) {
        if !text.isEmpty { text += "," }
        var isOnlyHolidays = days.isEmpty
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

    /// Days that follow without a comma: weekdays after holidays narrow them, holidays after weekdays are added.
    private mutating func readNeighbour(isOnlyHolidays: Bool, into days: inout DayPattern, text: inout String)
        throws(NotUnderstood)
    {
        guard startsDays() else { return }
        if isOnlyHolidays && !isHoliday() {
            days.onlyOn = days.holidays
            days.holidays = []
            text += " "
            var weekdays = DayPattern()
            var weekdayText = ""
            try read(into: &weekdays, text: &weekdayText)
            days.weekdays = weekdays.weekdays
            days.nth = weekdays.nth
            days.holidays = weekdays.holidays
            text += weekdayText
        } else {
            notes.add("`,` is missing between days")
            try read(into: &days, text: &text)
        }
    }

    private func startsDays(_ ahead: Int = 0) -> Bool {
        switch cursor.word(ahead) {
        case .weekday, .weekdays, .holiday, .holidayKind: true
        default: false
        }
    }

    private func isHoliday() -> Bool {
        switch cursor.word() {
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
    /// Reads ` +1 day` or ` -2 days`, if it is there; at most a year.
    mutating func readDayOffset(_ text: inout String) throws(NotUnderstood) -> Int16 {
        guard isSymbol("+") || isSymbol("-"), let count = number(1), word(2) == .day else { return 0 }
        guard count <= 366 else { throw NotUnderstood("more than 366 days") }
        let sign = isSymbol("-") ? -1 : 1
        text += " \(sign < 0 ? "-" : "+")\(count) day\(count == 1 ? "" : "s")"
        advance(3)
        return Int16(sign * count)
    }
}
