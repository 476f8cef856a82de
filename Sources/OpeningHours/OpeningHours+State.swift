extension OpeningHours {
    /// What holds at an instant, milliseconds since 1970 UTC.
    public func state(at instant: Int64, in context: HoursContext) -> OpenState {
        schedule.finding(at: context.zone.local(at: instant), in: context).state
    }

    /// What holds at a wall-clock time, and the comment of the rule that says so.
    public func state(at time: LocalTime, in context: HoursContext) -> (state: OpenState, comment: String?) {
        let finding = schedule.finding(at: time, in: context)
        return (finding.state, finding.comment.map { schedule.comments[$0] })
    }
}

extension Schedule {
    /// What holds in one minute: each rule in turn, as `DayPainting` does for a whole day.
    func finding(at time: LocalTime, in context: HoursContext) -> Finding {
        let today = CalendarDay(number: time.day)
        let yesterday = reachesTomorrow ? CalendarDay(number: time.day - 1) : today
        var found = Finding.closed
        for rule in rules {
            if rule.selects(today, in: context) {
                if rule.replaces { found = .closed }
                rule.apply(at: time.minute, on: today.number, in: context, to: &found)
            }
            if rule.reachesTomorrow && rule.selects(yesterday, in: context) {
                rule.apply(at: time.minute + 1440, on: yesterday.number, in: context, to: &found)
            }
        }
        return found
    }
}

extension Rule {
    /// Says what holds in a minute, counted from the midnight of a day it selects.
    fileprivate func apply(at minute: Int, on day: Int, in context: HoursContext, to found: inout Finding) {
        if spans.isEmpty {
            if minute < 1440 && (joining != .fallback || found == .closed) { found = finding(isOpenEnd: false) }
            return
        }
        for span in spans {
            // The first of a fallback's times that says something wins, as between fallbacks.
            if joining == .fallback && found != .closed { return }
            guard let minutes = span.minutes(on: day, in: context) else {
                if minute < 1440 { found = Finding(.unknown, comment: comment) }
                continue
            }
            if minutes.contains(minute) { found = finding(isOpenEnd: span.isOpenEnd) }
        }
    }
}
