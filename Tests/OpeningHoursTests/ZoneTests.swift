import Foundation
import OpeningHours
import SeededRandom
import Testing

@Suite("Zones and days")
struct ZoneTests {
    private func instant(_ text: String) throws -> Int64 {
        let time = try #require(LocalTime(text))
        return (Int64(time.day) * 1440 + Int64(time.minute)) * 60_000
    }

    @Test("A zone gives the wall clock of any instant, as the time zone database says")
    func offsets() throws {
        var random = SplitMix64.forTest()
        for name in [
            "Europe/Berlin", "Europe/Monaco", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca",
            "Pacific/Apia", "America/Caracas",
        ] {
            let zone = try #require(Zone.named(name))
            let foundation = try #require(TimeZone(identifier: name))
            for _ in 0..<300 {
                let seconds = Int64(random.below(4_000_000_000))
                #expect(
                    zone.offset(at: seconds * 1000)
                        == foundation.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))), "\(name) \(seconds)")
            }
            #expect(Zone.named(name) === zone)
        }
    }

    @Test("Before 1970, after 2100 and at the ends of time there is an offset too")
    func ends() throws {
        let zone = try #require(Zone.named("Europe/Berlin"))
        for instant in [Int64.min, -1, 0, 5_000_000_000_000, .max] {
            #expect((3600...7200).contains(zone.offset(at: instant)))
            #expect((0..<1440).contains(zone.local(at: instant).minute))
            #expect(OpeningHours("Mo 10:00-12:00").nextChange(after: instant, in: HoursContext(zone: zone)) != instant)
        }
        #expect(Zone.utc.local(at: -1) == LocalTime(day: -1, minute: 1439))
    }

    @Test(
        "What is no name of the database is no zone",
        arguments: [
            "", "Europe/Nowhere", "europe", "CEST?", "GMT+5", "UTC+1", "+01:00", "../etc/passwd", "Europe/Berlin ",
            "Ünïcode/Zone", String(repeating: "A", count: 1000),
        ])
    func names(_ name: String) { #expect(Zone.named(name) == nil) }

    @Test("An hour that daylight saving skips does not occur, and one that it repeats occurs twice")
    func daylightSaving() throws {
        let context = HoursContext(zone: try #require(Zone.named("Europe/Berlin")))
        func list(_ text: String, _ from: String, _ to: String) throws -> [String] {
            try listing(OpeningHours(text), from: from, to: to, in: context)
        }
        #expect(
            try list("02:15-02:45", "2021-03-27", "2021-03-30") == [
                "03-27 02:15 03-27 02:45 open", "03-29 02:15 03-29 02:45 open",
            ])
        #expect(try list("01:00-02:30", "2021-03-28", "2021-03-29") == ["03-28 01:00 03-28 03:00 open"])
        #expect(try list("02:30-04:00", "2021-03-28", "2021-03-29") == ["03-28 03:00 03-28 04:00 open"])
        #expect(try list("01:00-04:00", "2021-03-28", "2021-03-29") == ["03-28 01:00 03-28 04:00 open"])

        // The clock shows 02:30 twice: at 00:30 and at 01:30 UTC.
        let hours = OpeningHours("02:30-02:45")
        var changes: [Int64] = []
        var time = try instant("2021-10-31T00:00")
        while let next = hours.nextChange(after: time, in: context), changes.count < 4 {
            changes.append(next)
            time = next
        }
        #expect(try changes == ["2021-10-31T00:30", "2021-10-31T00:45", "2021-10-31T01:30", "2021-10-31T01:45"].map(instant))
        // In spring the same hours are skipped for a day.
        let spring = hours.nextChange(after: try instant("2021-03-27T12:00"), in: context)
        #expect(try spring == instant("2021-03-29T00:30"))
    }

    @Test("Nothing changes where nothing can, and a year ahead is the end of the search")
    func noChange() throws {
        let context = HoursContext(zone: .utc)
        let now = try instant("2021-06-01T12:00")
        for text in ["24/7", "off", "nonsense", "2020 Mo 10:00-12:00", "2030 Mo 10:00-12:00", "00:00-24:00"] {
            #expect(OpeningHours(text).nextChange(after: now, in: context) == nil, "\(text)")
        }
        #expect(try OpeningHours("Jan 01").nextChange(after: now, in: context) == instant("2022-01-01T00:00"))
    }

    @Test("Days have their dates, weekdays, weeks and Easters")
    func calendar() throws {
        for (date, number, weekday, week) in [
            ("1970-01-01", 0, 3, 1), ("2000-02-29", 11_016, 1, 9), ("2012-01-01", 15_340, 6, 52), ("2020-12-31", 18_627, 3, 53),
            ("2012-12-31", 15_705, 0, 1),
        ] {
            let day = try #require(LocalTime.date(date))
            #expect(day.number == number && day.weekday == weekday && day.week == week, "\(date)")
            #expect(LocalTime(day: number, minute: 61).description == date + "T01:01")
        }
        for number in stride(from: -800_000, to: 800_000, by: 37) {
            let day = CalendarDay(number: number)
            if day.year >= 0 { #expect(CalendarDay(year: day.year, month: day.month, day: day.day) == day) }
        }
        for text in ["2021-02-29", "2021-13-01", "2021-00-01", "21-01-01", "2021-1-1", "2021-01-01 ", "2021/01/01", "２０２１-01-01"]
        {
            #expect(LocalTime.date(text) == nil, "\(text)")
        }
        for text in ["2021-02-28T24:00", "2021-02-28T23:60", "2021-02-28 23:00", "2021-02-28T23:00Z", "2021-02-30T10:00", ""] {
            #expect(LocalTime(text) == nil, "\(text)")
        }
    }

    @Test("Ranges of days hold what was given, in any order and overlapping")
    func ranges() {
        var random = SplitMix64.forTest()
        for _ in 0..<200 {
            let given = (0..<random.below(8)).map { _ in
                let first = random.below(60); return first...first + random.below(10)
            }
            let ranges = DayRanges(given)
            for day in -2..<75 { #expect(ranges.contains(day) == given.contains { $0.contains(day) }) }
        }
    }
}
