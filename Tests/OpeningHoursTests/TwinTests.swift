import OpeningHours
import SeededRandom
import Testing

/// The listing paints days and the search jumps over them; the twin asks for every minute.
@Suite("Opening hours, minute by minute")
struct TwinTests {
    /// Zones with skipped and repeated hours, and half of one.
    private static let zones = [
        "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "UTC",
    ]

    private func context(_ random: inout SplitMix64) throws -> HoursContext {
        let zone = try #require(Zone.named(random.pick(Self.zones)))
        let first = try #require(LocalTime.date("2020-01-01")).number
        let isPlaced = random.chance(70)
        return HoursContext(
            zone: zone, latitude: isPlaced ? Double(random.below(121) - 60) : nil,
            longitude: isPlaced ? Double(random.below(361) - 180) : nil,
            publicHolidays: DayRanges(days: (0..<40).map { _ in first + random.below(366) }),
            schoolHolidays: DayRanges(
                (0..<5).map { _ in
                    let day = first + random.below(366); return day...day + random.below(20)
                }))
    }

    /// A day near which the offset of some of the zones changes, or any day.
    private func day(_ random: inout SplitMix64) throws -> Int {
        let days = ["2020-03-08", "2020-03-29", "2020-04-05", "2020-10-04", "2020-10-25", "2020-11-01", "2020-05-31"]
        let base = random.chance(50) ? random.pick(days) : "2020-01-01"
        return try #require(LocalTime.date(base)).number + (random.chance(50) ? random.below(3) - 1 : random.below(365))
    }

    @Test("Intervals hold every minute that the wall clock shows, and no other")
    func intervals() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<120 {
            let text = RandomHours.value(&random)
            let hours = OpeningHours(text)
            #expect(hours.isUnderstood, "\(text)")
            let context = try context(&random)
            let from = LocalTime(day: try day(&random), minute: random.below(1440))
            let to = LocalTime(day: from.day + 1 + random.below(2), minute: random.below(1440))
            let intervals = hours.intervals(from: from, to: to, in: context)
            var shown = Set<LocalTime>()
            for minute in Int64(from.day - 1) * 1440...Int64(to.day + 1) * 1440 {
                // Whatever instant shows a time: all offsets lie within a day.
                shown.insert(context.zone.local(at: minute * 60_000))
            }
            for (left, right) in zip(intervals, intervals.dropFirst()) {
                #expect(left.to <= right.from && (left.to, left.state, left.comment) != (right.from, right.state, right.comment))
            }
            var time = from
            while time < to {
                if shown.contains(time) {
                    let found = intervals.first { $0.from <= time && time < $0.to }
                    let expected = hours.state(at: time, in: context)
                    let isSame = (found?.state ?? .closed) == expected.state && found?.comment == expected.comment
                    #expect(isSame, "\(text) at \(time) in \(context.zone.identifier)")
                    if !isSame { return }
                }
                time =
                    time.minute == 1439
                    ? LocalTime(day: time.day + 1, minute: 0) : LocalTime(day: time.day, minute: time.minute + 1)
            }
        }
    }

    @Test("The next change is the first minute with another state")
    func changes() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<150 {
            let text = RandomHours.value(&random)
            let hours = OpeningHours(text)
            let context = try context(&random)
            let instant = (Int64(try day(&random)) * 1440 + Int64(random.below(1440))) * 60_000 + Int64(random.below(60_000))
            let state = hours.state(at: instant, in: context)
            var minute = instant / 60_000 + 1
            let end = minute + 3 * 1440
            while minute < end, hours.state(at: minute * 60_000, in: context) == state { minute += 1 }
            let change = hours.nextChange(after: instant, in: context)
            if minute < end {
                #expect(change == minute * 60_000, "\(text) after \(instant) in \(context.zone.identifier)")
            } else {
                #expect(change.map { $0 >= end * 60_000 } ?? true, "\(text) after \(instant) in \(context.zone.identifier)")
            }
            if let change {
                #expect(hours.state(at: change, in: context) != state && hours.state(at: change - 1, in: context) == state)
            }
        }
    }
}
