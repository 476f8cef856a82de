/// A time in which a place is open, or in which that is not known.
public struct HoursInterval: Sendable, Equatable {
    public var from: LocalTime
    public var to: LocalTime
    /// ``OpenState/open`` or ``OpenState/unknown``.
    public var state: OpenState
    public var comment: String?
}

extension OpeningHours {
    /// The times in which a place is not closed, in order; neighbours differ in state or comment, or are apart.
    ///
    /// All times are of the place's wall clock. Times that daylight saving skips do not occur; what happens in an hour that occurs
    /// twice is listed once. Costs about a microsecond a day: bound the days where they come from outside.
    public func intervals(from: LocalTime, to: LocalTime, in context: HoursContext) -> [HoursInterval] {
        guard from < to else { return [] }
        return withUnsafeTemporaryAllocation(of: Finding.self, capacity: 1440) { minutes in
            minutes.initialize(repeating: .closed)
            let painting = DayPainting(minutes)
            var collected = CollectedIntervals()
            for day in from.day...to.day {
                let first = day == from.day ? from.minute : 0
                let last = day == to.day ? to.minute : 1440
                guard first < last else { continue }
                painting.paint(day, of: schedule, in: context)
                collect(day, first..<last, without: context.zone.gap(on: day), of: painting, into: &collected)
            }
            return collected.end(at: to, comments: schedule.comments)
        }
    }

    private func collect(
        _ day: Int, _ range: Range<Int>, without gap: Range<Int>?, of painting: borrowing DayPainting,
        into collected: inout CollectedIntervals
    ) {
        var minute = range.lowerBound
        while minute < range.upperBound {
            if let gap, gap.contains(minute) {
                minute = gap.upperBound
                continue
            }
            collected.take(painting[minute], at: LocalTime(day: day, minute: minute))
            minute += 1
        }
    }
}

/// Joins minutes to intervals.
private struct CollectedIntervals {
    private var found: [(from: LocalTime, to: LocalTime, finding: Finding)] = []
    private var current = Finding.closed
    private var start = LocalTime(day: 0, minute: 0)

    mutating func take(_ finding: Finding, at time: LocalTime) {
        guard finding != current else { return }
        // What ends where the clock jumps ends at the time after the jump, which exists.
        close(at: time)
        current = finding
        start = time
    }

    private mutating func close(at time: LocalTime) {
        if current != .closed && start < time { found.append((start, time, current)) }
    }

    mutating func end(at time: LocalTime, comments: [String]) -> [HoursInterval] {
        close(at: time)
        return found.map {
            HoursInterval(from: $0.from, to: $0.to, state: $0.finding.state, comment: $0.finding.comment.map { comments[$0] })
        }
    }
}
