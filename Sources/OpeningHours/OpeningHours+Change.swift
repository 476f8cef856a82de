extension OpeningHours {
    /// How far ``nextChange(after:in:)`` looks ahead, in days.
    public static let searchDays = 366

    /// The first instant after one, both in milliseconds since 1970 UTC, at which another state holds; nil when there is none
    /// within ``searchDays``.
    ///
    /// Costs about a microsecond for each day until then.
    public func nextChange(after instant: Int64, in context: HoursContext) -> Int64? {
        // Beyond the calendar nothing changes.
        guard !isConstant, instant.magnitude < 8_000_000_000_000_000 else { return nil }
        return withUnsafeTemporaryAllocation(of: Finding.self, capacity: 1440) { minutes in
            minutes.initialize(repeating: .closed)
            return nextChange(after: instant, in: context, painting: DayPainting(minutes))
        }
    }

    /// Goes through the stretches of time in which the offset to UTC is the same, so that a skipped hour is skipped and a repeated
    /// one is gone through twice.
    private func nextChange(after instant: Int64, in context: HoursContext, painting: borrowing DayPainting) -> Int64? {
        let zone = context.zone
        let before = state(at: instant, in: context)
        let end = instant + Int64(Self.searchDays) * 86_400_000
        var time = zone.local(at: instant)
        time.minute += 1
        var offset = Int64(zone.offset(at: instant)) * 1000
        var transition = zone.transition(after: instant) ?? .max
        painting.paint(time.day, of: schedule, in: context)
        while true {
            if time.minute >= 1440 {
                time = LocalTime(day: time.day + 1, minute: 0)
                painting.paint(time.day, of: schedule, in: context)
            }
            while time.minute < 1440 && painting[time.minute].state == before { time.minute += 1 }
            let now = Zone.milliseconds(day: time.day, minute: time.minute) - offset
            if now >= transition {
                if transition > end { return nil }
                time = zone.local(at: transition)
                offset = Int64(zone.offset(at: transition)) * 1000
                painting.paint(time.day, of: schedule, in: context)
                if painting[time.minute].state != before { return transition }
                transition = zone.transition(after: transition) ?? .max
                continue
            }
            if now > end { return nil }
            if time.minute < 1440 { return now }
        }
    }
}
