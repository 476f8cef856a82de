/// What holds in each minute of a day, painted rule by rule.
struct DayPainting: ~Copyable {
    private let minutes: UnsafeMutableBufferPointer<Finding>

    /// - Parameter minutes: 1440 places, which live longer than the painting.
    init(_ minutes: UnsafeMutableBufferPointer<Finding>) {
        self.minutes = minutes
    }

    subscript(minute: Int) -> Finding { minutes[minute] }

    /// Forgets the day before and paints another.
    func paint(_ number: Int, of schedule: Schedule, in context: HoursContext) {
        minutes.update(repeating: .closed)
        let today = CalendarDay(number: number)
        let yesterday = schedule.reachesTomorrow ? CalendarDay(number: number - 1) : today
        for rule in schedule.rules {
            if rule.selects(today, in: context) {
                if rule.replaces { minutes.update(repeating: .closed) }
                paint(rule, from: today, shift: 0, in: context)
            }
            if rule.reachesTomorrow && rule.selects(yesterday, in: context) {
                paint(rule, from: yesterday, shift: 1440, in: context)
            }
        }
    }

    /// Paints what a rule says about the minutes `shift` after the midnight of a day it selects.
    private func paint(_ rule: Rule, from day: CalendarDay, shift: Int, in context: HoursContext) {
        if rule.spans.isEmpty { return fill(0..<1440, with: rule.finding(isOpenEnd: false), of: rule) }
        for span in rule.spans {
            if let range = span.minutes(on: day.number, in: context) {
                fill(range.lowerBound - shift..<range.upperBound - shift, with: rule.finding(isOpenEnd: span.isOpenEnd), of: rule)
            } else if shift == 0 {
                fill(0..<1440, with: Finding(.unknown, comment: rule.comment), of: rule)
            }
        }
    }

    private func fill(_ range: Range<Int>, with finding: Finding, of rule: Rule) {
        let part = range.clamped(to: 0..<1440)
        guard rule.joining == .fallback else { return minutes[part].update(repeating: finding) }
        for minute in part where minutes[minute] == .closed { minutes[minute] = finding }
    }
}
