/// A time of day in a rule: of the clock, or of the sun with an offset.
struct TimePoint: Sendable, Equatable {
    /// Minutes after midnight, up to 48:00; with `event` minutes after that.
    var minutes: Int16
    var event: Sun.Event?

    init(minutes: Int, event: Sun.Event? = nil) {
        self.minutes = Int16(clamping: minutes)
        self.event = event
    }

    /// Minutes after midnight on a day on which the sun rises at six and sets at eighteen.
    var typical: Int { Int(minutes) + (event?.typicalMinutes ?? 0) }

    /// Minutes after the local midnight of a day; nil where the sun's time is not known.
    func resolved(on day: Int, in context: HoursContext) -> Int? {
        guard let event else { return Int(minutes) }
        guard let place = context.coordinates else { return nil }
        let noon = Zone.milliseconds(day: day, minute: 720)
        let local = noon - Int64(context.zone.offset(at: noon)) * 1000
        guard let instant = Sun.instant(of: event, around: local, latitude: place.latitude, longitude: place.longitude) else {
            return nil
        }
        let time = context.zone.local(at: instant)
        return (time.day - day) * 1440 + time.minute + Int(minutes)
    }
}

/// A span of time that begins on a day the rule selects, and may reach to the end of the next one.
struct TimeSpan: Sendable, Equatable {
    var start: TimePoint
    /// For an open end the time from which the end is open, the same as `start`.
    var end: TimePoint
    /// Whether the end is a guess, so that the span is unknown rather than open.
    var isOpenEnd = false
    /// Where an open end must stop, since the rule goes on with another time then.
    var cut: Int16 = TimeSpan.minutesMax

    /// The end of the day after.
    static let minutesMax: Int16 = 2880

    var usesSun: Bool { start.event != nil || end.event != nil }

    var reachesTomorrow: Bool {
        usesSun || isOpenEnd || end.minutes > 1440 || end.minutes <= start.minutes
    }

    /// The minutes from the day's midnight on that the span covers, from 0 to 2880; nil where a time of the sun is not known.
    func minutes(on day: Int, in context: HoursContext) -> Range<Int>? {
        guard let from = start.resolved(on: day, in: context) else { return nil }
        let start = min(max(from, 0), Int(Self.minutesMax))
        if isOpenEnd { return start..<max(start, min(Self.openEnd(from: start), Int(cut))) }
        guard var to = end.resolved(on: day, in: context) else { return nil }
        if to <= from {
            // `sunrise-08:00` is no night, and empty where the sun rises later.
            guard end.typical < self.start.typical || end.event != nil && end.event == self.start.event else {
                return start..<start
            }
            // The sun's time that ends the night is tomorrow's.
            guard let next = end.event == nil ? to : end.resolved(on: day + 1, in: context) else { return nil }
            to = next + 1440
        }
        return start..<min(max(to, start), Int(Self.minutesMax))
    }

    /// When to stop guessing that a place with an open end is still open: at midnight for what starts before 17:00, else after 10
    /// hours, after 8 for what starts at 22:00 or later. Source: opening_hours.js, which these hours are checked with by mappers.
    static func openEnd(from start: Int) -> Int {
        if start < 17 * 60 { return 1440 }
        return min(start + (start < 22 * 60 ? 600 : 480), Int(minutesMax))
    }
}
