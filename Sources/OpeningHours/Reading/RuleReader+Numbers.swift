/// Years and weeks: `2013-2015/2,2020+`, `week 01-53/2`.
extension RuleReader {
    private static let yearMax = 9999

    mutating func readYears() throws(NotUnderstood) {
        repeat {
            guard cursor.isYear(), let from = cursor.number() else { break }
            cursor.advance()
            var to = from
            var text = String(from)
            var isOpen = false
            if cursor.isRangeMark(), cursor.isYear(1), let end = cursor.number(1) {
                if end == from { notes.add("a range of one year is read as that year") }
                to = end
                text += "-\(end)"
                cursor.advance(2)
            } else if cursor.isSymbol("/") {
                // `2013/4`: that year and every fourth from then on.
                to = Self.yearMax
                isOpen = true
            } else if cursor.take("+") {
                to = Self.yearMax
                text += "+"
            }
            guard to >= from else { throw NotUnderstood("the years run backwards") }
            let step = try readStep(&text, of: to - from)
            if isOpen && step == 1 { text += "+" }
            rule.years.append(NumberRange(from: Int16(from), to: Int16(to), step: step))
            texts.years += texts.years.isEmpty ? text : "," + text
        } while takeListMark(if: cursor.isYear(1) && !startsDate(2))
    }

    mutating func readWeeks() throws(NotUnderstood) {
        cursor.advance()
        repeat {
            if cursor.take(.week) { notes.add("`week` is said twice") }
            guard let from = week() else { throw NotUnderstood("a week from 1 to 53 is expected") }
            cursor.advance()
            var to = from
            var text = LocalTime.padded(from, 2)
            if cursor.isRangeMark() {
                cursor.advance()
                guard let end = week() else { throw NotUnderstood("a week from 1 to 53 is expected") }
                cursor.advance()
                to = end
                text += "-" + LocalTime.padded(to, 2)
            }
            let step = try readStep(&text, of: to >= from ? to - from : 53)
            if to >= from {
                rule.weeks.append(NumberRange(from: Int16(from), to: Int16(to), step: step))
            } else {
                guard step == 1 else { throw NotUnderstood("weeks over the end of the year have no step") }
                notes.add("weeks that run backwards are read over the end of the year")
                rule.weeks.append(NumberRange(from: Int16(from), to: 53))
                rule.weeks.append(NumberRange(from: 1, to: Int16(to)))
            }
            texts.weeks += texts.weeks.isEmpty ? "week " + text : "," + text
        } while takeListMark(if: (cursor.number(1) ?? 99) <= 53 && !TimesReader.isTime(cursor, 1) || cursor.word(1) == .week)
    }

    private func week() -> Int? {
        guard let number = cursor.number(), (1...53).contains(number), !TimesReader.isTime(cursor) else { return nil }
        return number
    }

    /// - Parameter length: What the range has beyond its first.
    private mutating func readStep(_ text: inout String, of length: Int) throws(NotUnderstood) -> Int16 {
        guard cursor.take("/") else { return 1 }
        guard let step = cursor.number(), (1...1000).contains(step) else { throw NotUnderstood("a step is expected after `/`") }
        cursor.advance()
        if step == 1 || step > length { notes.add("a step of \(step) leaves the range as it is, or its first alone") }
        if step > 1 { text += "/\(step)" }
        return Int16(step)
    }

    /// Takes the mark of a list if what the list needs comes after it.
    private mutating func takeListMark(if goesOn: Bool) -> Bool {
        guard goesOn, cursor.isListMark() else { return false }
        cursor.advance()
        return true
    }
}
