/// Reads times of day: `08:00-12:00,14:00+`, `sunrise-(sunset+01:00)`, and what people write for them.
struct TimesReader {
    var cursor: TokenCursor
    var notes: Notes

    /// A time as it was written.
    private struct Clock {
        var point: TimePoint
        var meridiem: Int?
        var text: String
        var isBare = false
    }

    mutating func read(into spans: inout [TimeSpan], text: inout String) throws(NotUnderstood) {
        repeat {
            if !text.isEmpty { text += "," }
            try readSpan(into: &spans, text: &text)
        } while takeListMark()
        Self.cutOpenEnds(&spans)
    }

    private mutating func readSpan(into spans: inout [TimeSpan], text: inout String) throws(NotUnderstood) {
        var start = try readPoint(isEnd: false)
        if takeOpenEnd() {
            try check(start)
            spans.append(TimeSpan(start: start.point, end: start.point, isOpenEnd: true))
            text += Self.text(start) + "+"
            return
        }
        guard cursor.isRangeMark() else { throw NotUnderstood("a time without an end") }
        cursor.advance()
        var end = try readPoint(isEnd: true)
        Self.settleMeridiems(&start, &end, &notes)
        try check(start)
        if start.isBare || end.isBare { notes.add("hours without minutes are read as full hours") }
        if start.point.event == nil && end.point.event == nil && end.point.minutes <= start.point.minutes {
            end.point.minutes += 1440
        }
        spans.append(TimeSpan(start: start.point, end: end.point))
        text += Self.text(start, end)
        if takeOpenEnd() {
            if end.point.event == nil, end.point.minutes >= TimeSpan.minutesMax {
                notes.add("an open end after 48:00 adds nothing")
            }
            var from = end.point
            // The morning after an evening is tomorrow's.
            if from.event?.isMorning == true && !(start.point.event?.isMorning ?? (start.point.minutes < 720)) {
                from.minutes += 1440
            }
            spans.append(TimeSpan(start: from, end: from, isOpenEnd: true))
            text += "+"
        }
        if cursor.isSymbol("/") { throw NotUnderstood("points in time are not supported") }
    }

    private func check(_ start: Clock) throws(NotUnderstood) {
        guard start.point.event != nil || start.point.minutes < 1440 else { throw NotUnderstood("a time starts after 24:00") }
    }

    /// Takes `+`, `-late`, `-open end`.
    private mutating func takeOpenEnd() -> Bool {
        if cursor.take("+") { return true }
        let first = cursor.isRangeMark() ? 1 : 0
        if cursor.word(first) == .openEnd {
            cursor.advance(first + 1)
            return true
        }
        if cursor.word(first) == .state(.open), cursor.word(first + 1) == .end {
            cursor.advance(first + 2)
            return true
        }
        return false
    }

    private mutating func takeListMark() -> Bool {
        guard cursor.isListMark() else { return false }
        var ahead = 1
        while cursor.isListMark(ahead) && ahead < 3 { ahead += 1 }
        switch cursor.word(ahead) {
        case .event, .noon, .midnight: break
        default:
            guard cursor.isSymbol("(", ahead) || Self.isClock(cursor, ahead) || isBareSpan(ahead) else { return false }
        }
        if cursor.isSymbol(",", 1) { notes.add("`,,` is read as `,`") }
        cursor.advance(ahead)
        return true
    }

    private func isBareSpan(_ ahead: Int) -> Bool {
        guard let number = cursor.number(ahead), cursor.digits(ahead) <= 2, number <= 24 else {
            var rest = cursor
            rest.advance(ahead)
            return Self.isMilitary(rest)
        }
        return cursor.isRangeMark(ahead + 1)
    }

    /// Ends each open end where the rule goes on with another time. Only of the clock: the sun's times are known too late.
    private static func cutOpenEnds(_ spans: inout [TimeSpan]) {
        for index in spans.indices where spans[index].isOpenEnd && spans[index].start.event == nil {
            let start = spans[index].start.minutes
            for (other, span) in spans.enumerated() where other != index && span.start.event == nil {
                let isLater = span.start.minutes > start || span.start.minutes == start && !span.isOpenEnd
                if isLater { spans[index].cut = min(spans[index].cut, span.start.minutes) }
            }
        }
    }
}

// MARK: - Points

extension TimesReader {
    /// Whether a number is a time by what follows it: `08:00`, `8.00`, `8h30`, `8 am`, `8 Uhr`.
    static func isClock(_ cursor: TokenCursor, _ ahead: Int = 0) -> Bool {
        guard cursor.number(ahead) != nil, cursor.digits(ahead) <= 2 else { return false }
        switch cursor.word(ahead + 1) {
        case .hour, .meridiem: return true
        default: break
        }
        guard cursor.isSymbol(":", ahead + 1) || cursor.isSymbol(".", ahead + 1) else { return false }
        return cursor.digits(ahead + 2) == 2 && !cursor[ahead + 2].isApart && !cursor[ahead + 1].isApart
    }

    /// Whether a number is a time and no day or week that a colon joins to one.
    static func isTime(_ cursor: TokenCursor, _ ahead: Int = 0) -> Bool { isClock(cursor, ahead) && !isJoined(cursor, ahead) }

    /// Whether a number and the colon after it are before a time: the 24 in `Dec 24:10:00-14:00`. Where both ends have seconds it is
    /// an hour.
    private static func isJoined(_ cursor: TokenCursor, _ ahead: Int) -> Bool {
        let next = ahead + 5
        guard cursor.isSymbol(":", ahead + 1), isClock(cursor, ahead + 2), cursor.isSymbol(":", ahead + 3) else { return false }
        if cursor.isSymbol("+", next) { return true }
        return cursor.isRangeMark(next) && !(cursor.isSymbol(":", next + 2) && cursor.isSymbol(":", next + 4))
    }

    /// Whether `0800-1830` begins here. What could be a year is none.
    static func isMilitary(_ cursor: TokenCursor) -> Bool {
        guard let start = cursor.number(), cursor.digits() == 4, start < 1900, start % 100 < 60, cursor.isRangeMark(1) else {
            return false
        }
        guard let end = cursor.number(2), cursor.digits(2) == 4 else { return false }
        return end <= 4800 && end % 100 < 60
    }

    private mutating func readPoint(isEnd: Bool) throws(NotUnderstood) -> Clock {
        while cursor.word() == .filler { cursor.advance() }
        if cursor.take("(") {
            let point = try readEvent()
            guard cursor.take(")") else { throw NotUnderstood("`)` is expected") }
            return point
        }
        switch cursor.word() {
        case .event: return try readEvent()
        case .noon:
            cursor.advance()
            return Clock(point: TimePoint(minutes: 720), text: "12:00")
        case .midnight:
            cursor.advance()
            return Clock(point: TimePoint(minutes: isEnd ? 1440 : 0), text: isEnd ? "24:00" : "00:00")
        default: return try readClock()
        }
    }

    /// Reads `sunset`, `sunset+01:00`.
    private mutating func readEvent() throws(NotUnderstood) -> Clock {
        guard case .event(let event)? = cursor.word() else { throw NotUnderstood("a time of the sun is expected") }
        cursor.advance()
        var minutes = 0
        // Without brackets `sunset-22:00` is a range.
        if cursor.isSymbol("+") && Self.isClock(cursor, 1) || cursor.isSymbol("-") && isOffsetInBrackets() {
            let sign = cursor.isSymbol("-") ? -1 : 1
            let hours = cursor.number(1) ?? 0
            let rest = cursor.number(3) ?? 0
            guard hours <= 24, rest < 60 else { throw NotUnderstood("an offset of at most 24 hours is expected") }
            minutes = sign * (hours * 60 + rest)
            cursor.advance(4)
        }
        return Clock(point: TimePoint(minutes: minutes, event: event), text: Self.text(event, minutes))
    }

    private func isOffsetInBrackets() -> Bool { Self.isClock(cursor, 1) && cursor.isSymbol(")", 4) }

    private mutating func readClock() throws(NotUnderstood) -> Clock {
        guard let number = cursor.number() else { throw NotUnderstood("a time is expected") }
        var hours = number
        var minutes = 0
        var isBare = false
        if cursor.digits() == 4 {
            hours = number / 100
            minutes = number % 100
            cursor.advance()
            notes.add("times without `:` are read as hours and minutes")
        } else {
            guard cursor.digits() <= 2 else { throw NotUnderstood("a time is expected") }
            let isSplit = cursor.isSymbol(":", 1) || cursor.isSymbol(".", 1)
            if isSplit && Self.isClock(cursor) {
                if cursor.isSymbol(".", 1) { notes.add("`.` in times is read as `:`") }
                minutes = cursor.number(2) ?? 0
                cursor.advance(3)
                readSeconds()
            } else {
                cursor.advance()
                isBare = true
            }
        }
        if cursor.word() == .hour {
            cursor.advance()
            if isBare, let rest = cursor.number(), cursor.digits() == 2, !cursor[0].isApart, rest < 60 {
                minutes = rest
                isBare = false
                cursor.advance()
            }
        }
        return try clock(hours: hours, minutes: minutes, meridiem: readMeridiem(), isBare: isBare)
    }

    private mutating func readSeconds() {
        if cursor.isSymbol(":"), cursor.digits(1) == 2, !cursor[1].isApart {
            notes.add("seconds are left out")
            cursor.advance(2)
        }
    }

    private mutating func readMeridiem() -> Int? {
        if case .meridiem(let hours)? = cursor.word() {
            cursor.advance()
            return hours
        }
        // `a.m.`
        guard case .word(let letter) = cursor.kind, letter == "a" || letter == "p", cursor.isSymbol(".", 1),
            cursor[2].kind == .word("m")
        else { return nil }
        cursor.advance(3)
        _ = cursor.take(".")
        return letter == "a" ? 0 : 12
    }

    private func clock(hours: Int, minutes: Int, meridiem: Int?, isBare: Bool) throws(NotUnderstood) -> Clock {
        guard minutes < 60, hours * 60 + minutes <= 2880 else { throw NotUnderstood("a time beyond 48:00") }
        var total = hours * 60 + minutes
        if let meridiem {
            guard (1...12).contains(hours) else { throw NotUnderstood("a time of a 12-hour clock is expected") }
            total = hours % 12 * 60 + minutes + meridiem * 60
        }
        // Full hours beside am or pm are no guess.
        return Clock(point: TimePoint(minutes: total), meridiem: meridiem, text: "", isBare: isBare && meridiem == nil)
    }

    /// Gives a time without am or pm that of the other: `9-5pm`, `1-5pm`, `9am-5`.
    private static func settleMeridiems(_ start: inout Clock, _ end: inout Clock, _ notes: inout Notes) {
        guard start.meridiem != nil || end.meridiem != nil else { return }
        if start.meridiem == nil, start.point.event == nil, start.point.minutes < 720, end.meridiem == 12 {
            let same = start.point.minutes + 720
            if same < end.point.minutes { start.point.minutes = same }
            start.isBare = false
        }
        if end.meridiem == nil, end.point.event == nil, end.point.minutes <= 720, end.point.minutes <= start.point.minutes {
            end.point.minutes += 720
            end.isBare = false
        }
        notes.add("times with am or pm are read as those of a 24-hour clock")
    }
}

// MARK: - Text

extension TimesReader {
    private static func text(_ start: Clock, _ end: Clock) -> String {
        let from = text(start)
        guard end.point.event == nil else { return "\(from)-\(text(end))" }
        var minutes = Int(end.point.minutes)
        // What ends before the start ends the day after; what ends later than that is written with hours beyond 24.
        if start.point.event == nil && minutes > 1440 && minutes - 1440 <= Int(start.point.minutes) { minutes -= 1440 }
        return "\(from)-\(clockText(minutes))"
    }

    private static func text(_ clock: Clock) -> String {
        clock.point.event == nil ? clockText(Int(clock.point.minutes)) : clock.text
    }

    private static func text(_ event: Sun.Event, _ offset: Int) -> String {
        let name =
            switch event {
            case .dawn: "dawn"
            case .sunrise: "sunrise"
            case .sunset: "sunset"
            case .dusk: "dusk"
            }
        return offset == 0 ? name : "(\(name)\(offset < 0 ? "-" : "+")\(clockText(abs(offset))))"
    }

    private static func clockText(_ minutes: Int) -> String {
        LocalTime.padded(minutes / 60, 2) + ":" + LocalTime.padded(minutes % 60, 2)
    }
}
