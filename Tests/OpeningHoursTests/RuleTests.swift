import OpeningHours
import Testing

/// The rules of the specification, one table for each idea. The week from Monday 2012-10-01 is used where no other is needed.
@Suite("Rules of opening hours")
struct RuleTests {
    private func check(_ row: HoursCase, in context: HoursContext = HoursContext(zone: .utc)) throws {
        let hours = OpeningHours(row.value)
        #expect(hours.isUnderstood)
        #expect(try listing(hours, from: row.from, to: row.to, in: context) == row.expected)
        let again = OpeningHours(hours.normalised)
        #expect(again.normalised == hours.normalised)
        #expect(try listing(again, from: row.from, to: row.to, in: context) == row.expected)
    }

    @Test(
        "Times over midnight belong to the day they start on",
        arguments: [
            HoursCase("We 22:00-02:00", "2012-10-01", "2012-10-08", ["10-03 22:00 10-04 02:00 open"]),
            HoursCase("We 22:00-26:00", "2012-10-01", "2012-10-08", ["10-03 22:00 10-04 02:00 open"]),
            HoursCase("We 22:00-22:00", "2012-10-01", "2012-10-08", ["10-03 22:00 10-04 22:00 open"]),
            HoursCase("Tu 23:59-48:00", "2012-10-01", "2012-10-08", ["10-02 23:59 10-04 00:00 open"]),
            HoursCase("12:00-12:00", "2012-10-01", "2012-10-03", ["10-01 00:00 10-03 00:00 open"]),
            HoursCase("We 14:00-00:00", "2012-10-01", "2012-10-08", ["10-03 14:00 10-04 00:00 open"]),
            HoursCase("Su 22:00-02:00", "2012-10-01", "2012-10-02", ["10-01 00:00 10-01 02:00 open"]),
            HoursCase("Su 10:00-09:00", "2012-10-06", "2012-10-09", ["10-07 10:00 10-08 09:00 open"]),
        ])
    func midnight(_ row: HoursCase) throws { try check(row) }

    @Test(
        "A normal rule replaces whole days, with what was carried into them, and one that closes takes only its times away",
        arguments: [
            HoursCase(
                "22:00-02:00; Tu 12:00-14:00", "2012-10-01", "2012-10-05",
                [
                    "10-01 00:00 10-01 02:00 open", "10-01 22:00 10-02 00:00 open", "10-02 12:00 10-02 14:00 open",
                    "10-03 00:00 10-03 02:00 open", "10-03 22:00 10-04 02:00 open", "10-04 22:00 10-05 00:00 open",
                ]),
            HoursCase(
                "Mo-We 10:00-16:00; Tu 12:00-18:00", "2012-10-01", "2012-10-05",
                ["10-01 10:00 10-01 16:00 open", "10-02 12:00 10-02 18:00 open", "10-03 10:00 10-03 16:00 open"]),
            HoursCase(
                "Mo-Fr 10:00-20:00; 12:00-14:00 off", "2012-10-01", "2012-10-02",
                ["10-01 10:00 10-01 12:00 open", "10-01 14:00 10-01 20:00 open"]),
            HoursCase("10:00-12:00; Tu-Su off", "2012-10-01", "2012-10-08", ["10-01 10:00 10-01 12:00 open"]),
            HoursCase("09:00-12:00; 14:00-18:00", "2012-10-01", "2012-10-02", ["10-01 14:00 10-01 18:00 open"]),
            HoursCase("12:00-13:00; 24/7", "2012-10-01", "2012-10-02", ["10-01 00:00 10-02 00:00 open"]),
            HoursCase(
                "24/7; Tu closed", "2012-10-01", "2012-10-04", ["10-01 00:00 10-02 00:00 open", "10-03 00:00 10-04 00:00 open"]),
            // A rule's own night reaches into a day that an earlier rule fills.
            HoursCase(
                "Mo 12:00-14:00; Su 18:00-02:00", "2012-10-07", "2012-10-09",
                ["10-07 18:00 10-08 02:00 open", "10-08 12:00 10-08 14:00 open"]),
            HoursCase("off", "2012-10-01", "2012-10-08", []),
        ])
    func normal(_ row: HoursCase) throws { try check(row) }

    @Test(
        "An additional rule adds, and a comma has three uses",
        arguments: [
            HoursCase(
                "Mo-We 10:00-16:00, Tu 12:00-18:00", "2012-10-01", "2012-10-04",
                ["10-01 10:00 10-01 16:00 open", "10-02 10:00 10-02 18:00 open", "10-03 10:00 10-03 16:00 open"]),
            HoursCase(
                "Mo,We 08:00-12:00,14:00-16:00, Tu 14:00-18:00; We off", "2012-10-01", "2012-10-08",
                ["10-01 08:00 10-01 12:00 open", "10-01 14:00 10-01 16:00 open", "10-02 14:00 10-02 18:00 open"]),
            HoursCase(
                "Su-Tu 11:00-01:00, We 11:00-03:00", "2012-10-02", "2012-10-05",
                ["10-02 00:00 10-02 01:00 open", "10-02 11:00 10-03 01:00 open", "10-03 11:00 10-04 03:00 open"]),
            HoursCase(
                "Mo 10:00-12:00 open, Mo 13:00-14:00", "2012-10-01", "2012-10-02",
                ["10-01 10:00 10-01 12:00 open", "10-01 13:00 10-01 14:00 open"]),
        ])
    func additional(_ row: HoursCase) throws { try check(row) }

    @Test(
        "A fallback fills what is closed, whether said or not, and the first that says something wins",
        arguments: [
            HoursCase(
                "We 10:00-24:00, Mo closed || \"call\"", "2012-10-01", "2012-10-05",
                ["10-01 00:00 10-03 10:00 unknown call", "10-03 10:00 10-04 00:00 open", "10-04 00:00 10-05 00:00 unknown call"]),
            HoursCase(
                "Mo 10:00-12:00 || \"call\"; Tu off", "2012-10-01", "2012-10-04",
                [
                    "10-01 00:00 10-01 10:00 unknown call", "10-01 10:00 10-01 12:00 open",
                    "10-01 12:00 10-02 00:00 unknown call", "10-03 00:00 10-04 00:00 unknown call",
                ]),
            HoursCase(
                "Mo 10:00-12:00 || unknown || open \"never\"", "2012-10-02", "2012-10-03", ["10-02 00:00 10-03 00:00 unknown"]),
            HoursCase(
                "We 10:00-24:00 open \"first\" || We \"call\" || open \"else\"", "2012-10-02", "2012-10-05",
                [
                    "10-02 00:00 10-03 00:00 open else", "10-03 00:00 10-03 10:00 unknown call",
                    "10-03 10:00 10-04 00:00 open first", "10-04 00:00 10-05 00:00 open else",
                ]),
            HoursCase(
                "Mo-Fr 08:00-12:00 || Tu 06:00-06:00 open \"emergency\"", "2012-10-02", "2012-10-04",
                [
                    "10-02 06:00 10-02 08:00 open emergency", "10-02 08:00 10-02 12:00 open",
                    "10-02 12:00 10-03 06:00 open emergency", "10-03 08:00 10-03 12:00 open",
                ]),
        ])
    func fallback(_ row: HoursCase) throws { try check(row) }

    @Test(
        "An open end is unknown: to midnight, for ten hours in the evening, for eight at night, until the rule goes on",
        arguments: [
            HoursCase("Mo 07:00+", "2012-10-01", "2012-10-03", ["10-01 07:00 10-02 00:00 unknown"]),
            HoursCase("Mo 17:00+", "2012-10-01", "2012-10-03", ["10-01 17:00 10-02 03:00 unknown"]),
            HoursCase("Mo 22:00+", "2012-10-01", "2012-10-03", ["10-01 22:00 10-02 06:00 unknown"]),
            HoursCase(
                "Mo 14:00-17:00+", "2012-10-01", "2012-10-03",
                ["10-01 14:00 10-01 17:00 open", "10-01 17:00 10-02 03:00 unknown"]),
            HoursCase(
                "Mo 22:00-04:00+", "2012-10-01", "2012-10-03",
                ["10-01 22:00 10-02 04:00 open", "10-02 04:00 10-02 12:00 unknown"]),
            HoursCase(
                "Mo 07:00+,12:00-16:00", "2012-10-01", "2012-10-03",
                ["10-01 07:00 10-01 12:00 unknown", "10-01 12:00 10-01 16:00 open"]),
            HoursCase(
                "Mo 13:00-17:00,17:00+", "2012-10-01", "2012-10-03",
                ["10-01 13:00 10-01 17:00 open", "10-01 17:00 10-02 03:00 unknown"]),
            HoursCase("Mo 17:00+ off", "2012-10-01", "2012-10-03", []),
            HoursCase(
                "Mo 07:00+ open \"see the door\"", "2012-10-01", "2012-10-02", ["10-01 07:00 10-02 00:00 unknown see the door"]),
        ])
    func openEnd(_ row: HoursCase) throws { try check(row) }

    @Test(
        "A comment alone makes hours unknown, beside a state it explains",
        arguments: [
            HoursCase("\"by appointment\"", "2012-10-01", "2012-10-02", ["10-01 00:00 10-02 00:00 unknown by appointment"]),
            HoursCase("Mo 10:00-12:00 \"ring\"", "2012-10-01", "2012-10-02", ["10-01 10:00 10-01 12:00 unknown ring"]),
            HoursCase("Mo 10:00-12:00 open \"ring\"", "2012-10-01", "2012-10-02", ["10-01 10:00 10-01 12:00 open ring"]),
            HoursCase("\"Summer\": Mo 10:00-12:00", "2012-10-01", "2012-10-02", ["10-01 10:00 10-01 12:00 open Summer"]),
            HoursCase("unknown", "2012-10-01", "2012-10-02", ["10-01 00:00 10-02 00:00 unknown"]),
            HoursCase("Mo off \"gone\"", "2012-10-01", "2012-10-02", []),
        ])
    func comments(_ row: HoursCase) throws { try check(row) }

    @Test(
        "Weekdays wrap, and the nth of a month may be moved",
        arguments: [
            HoursCase(
                "Sa-Mo 10:00-11:00", "2012-10-01", "2012-10-08",
                ["10-01 10:00 10-01 11:00 open", "10-06 10:00 10-06 11:00 open", "10-07 10:00 10-07 11:00 open"]),
            HoursCase(
                "We[4,5] 10:00-12:00", "2012-10-01", "2012-11-01",
                ["10-24 10:00 10-24 12:00 open", "10-31 10:00 10-31 12:00 open"]),
            HoursCase(
                "We[-1,-2] 10:00-12:00", "2012-10-01", "2012-11-01",
                ["10-24 10:00 10-24 12:00 open", "10-31 10:00 10-31 12:00 open"]),
            HoursCase(
                "Th[1-2] 10:00-12:00", "2012-10-01", "2012-11-01",
                ["10-04 10:00 10-04 12:00 open", "10-11 10:00 10-11 12:00 open"]),
            HoursCase(
                "Sa[-1] +3 days 10:00-12:00", "2013-08-21", "2013-10-02",
                ["09-03 10:00 09-03 12:00 open", "10-01 10:00 10-01 12:00 open"]),
            HoursCase(
                "Sa[-1],Sa[-1] +1 day", "2013-08-21", "2013-10-03",
                ["08-31 00:00 09-02 00:00 open", "09-28 00:00 09-30 00:00 open"]),
            HoursCase("Aug Su[-1] +1 day", "2013-08-01", "2013-10-08", ["08-26 00:00 08-27 00:00 open"]),
            HoursCase(
                "Mar Su[-1]-Oct Su[-1] Su 08:00-09:00", "2013-10-15", "2013-11-15",
                ["10-20 08:00 10-20 09:00 open", "10-27 08:00 10-27 09:00 open"]),
        ])
    func weekdays(_ row: HoursCase) throws { try check(row) }

    @Test(
        "Months, dates and years select ranges that may wrap over the new year",
        arguments: [
            HoursCase("Nov-Feb: Mo 10:00-12:00", "2012-10-22", "2012-11-06", ["11-05 10:00 11-05 12:00 open"]),
            HoursCase("Dec 30-Jan 02", "2012-12-01", "2013-02-01", ["12-30 00:00 01-03 00:00 open"]),
            HoursCase(
                "Jun 15-Jul 31: 20:45-24:00", "2021-07-30", "2021-08-02",
                ["07-30 20:45 07-31 00:00 open", "07-31 20:45 08-01 00:00 open"]),
            HoursCase(
                "Dec 24,26,30-31", "2012-12-01", "2013-01-15",
                ["12-24 00:00 12-25 00:00 open", "12-26 00:00 12-27 00:00 open", "12-30 00:00 01-01 00:00 open"]),
            HoursCase(
                "2021 Apr 01-02 08:00-18:30", "2021-03-30", "2021-04-10",
                ["04-01 08:00 04-01 18:30 open", "04-02 08:00 04-02 18:30 open"]),
            HoursCase("2021 Apr 01-02 08:00-18:30", "2022-03-30", "2022-04-10", []),
            HoursCase("2012 Dec 30-2013 Jan 02", "2012-12-01", "2014-02-01", ["12-30 00:00 01-03 00:00 open"]),
            HoursCase("2012 Dec 30-Jan 02", "2012-12-01", "2014-02-01", ["12-30 00:00 01-03 00:00 open"]),
            HoursCase("2012 Nov-2013 Feb", "2012-10-01", "2014-04-01", ["11-01 00:00 03-01 00:00 open"]),
            HoursCase(
                "2013-2015/2 Jan 01", "2012-01-01", "2017-01-01",
                ["01-01 00:00 01-02 00:00 open", "01-01 00:00 01-02 00:00 open"]),
            HoursCase(
                "2016+ Jan 01", "2014-01-01", "2017-02-01", ["01-01 00:00 01-02 00:00 open", "01-01 00:00 01-02 00:00 open"]),
            HoursCase(
                "Jan 01-31/8 10:00-12:00", "2012-01-01", "2013-01-01",
                [
                    "01-01 10:00 01-01 12:00 open", "01-09 10:00 01-09 12:00 open", "01-17 10:00 01-17 12:00 open",
                    "01-25 10:00 01-25 12:00 open",
                ]),
            HoursCase(
                "Dec 31-Jan 02/2", "2012-12-01", "2013-02-01", ["12-31 00:00 01-01 00:00 open", "01-02 00:00 01-03 00:00 open"]),
            HoursCase("Jan Mo[1]-15", "2013-01-01", "2013-12-31", ["01-07 00:00 01-16 00:00 open"]),
            HoursCase(
                "Jan Su[1] +2 days-Jan Su[3] -2 days", "2013-01-01", "2013-12-31", ["01-08 00:00 01-19 00:00 open"]),
            HoursCase(
                "2012/4 Jan 01", "2011-01-01", "2018-01-01", ["01-01 00:00 01-02 00:00 open", "01-01 00:00 01-02 00:00 open"]),
            HoursCase("3000/2 Jan 01", "3001-01-01", "3004-01-01", ["01-01 00:00 01-02 00:00 open"]),
            HoursCase("easter-Apr 20", "2012-01-01", "2013-01-01", ["04-08 00:00 04-21 00:00 open"]),
            HoursCase(
                "easter-Apr 02", "2012-01-01", "2013-01-01", ["01-01 00:00 04-03 00:00 open", "04-08 00:00 01-01 00:00 open"]),
            HoursCase("Feb 29", "2019-01-01", "2021-01-01", ["02-29 00:00 03-01 00:00 open"]),
            HoursCase("Feb 25-Feb 29", "2019-01-01", "2020-01-01", ["02-25 00:00 03-01 00:00 open"]),
            HoursCase("Dec 24+", "2012-12-01", "2013-03-01", ["12-24 00:00 01-01 00:00 open"]),
            HoursCase("easter", "2012-01-01", "2014-01-01", ["04-08 00:00 04-09 00:00 open", "03-31 00:00 04-01 00:00 open"]),
            HoursCase(
                "24/7; easter -2 days-easter +1 day off", "2012-04-05", "2012-04-12",
                ["04-05 00:00 04-06 00:00 open", "04-10 00:00 04-12 00:00 open"]),
            HoursCase("Dec 25 -Su 10:00-11:00", "2012-12-01", "2013-01-01", ["12-23 10:00 12-23 11:00 open"]),
            HoursCase(
                "Jan,Mar-Apr Mo[1]", "2013-01-01", "2013-06-01",
                ["01-07 00:00 01-08 00:00 open", "03-04 00:00 03-05 00:00 open", "04-01 00:00 04-02 00:00 open"]),
        ])
    func dates(_ row: HoursCase) throws { try check(row) }

    @Test(
        "Weeks are those of ISO 8601",
        arguments: [
            HoursCase(
                "week 01,03", "2012-01-01", "2013-01-01",
                ["01-02 00:00 01-09 00:00 open", "01-16 00:00 01-23 00:00 open", "12-31 00:00 01-01 00:00 open"]),
            HoursCase(
                "week 02-04/2", "2012-01-01", "2013-01-01", ["01-09 00:00 01-16 00:00 open", "01-23 00:00 01-30 00:00 open"]),
            HoursCase(
                "week 52-01 Mo", "2012-12-15", "2013-01-15", ["12-24 00:00 12-25 00:00 open", "12-31 00:00 01-01 00:00 open"]),
            HoursCase("week 1: Mo 10:00-12:00", "2014-12-01", "2015-02-01", ["12-29 10:00 12-29 12:00 open"]),
        ])
    func weeks(_ row: HoursCase) throws { try check(row) }

    @Test(
        "Holidays are beside the weekdays, alone, or narrow them",
        arguments: [
            HoursCase(
                "Mo-Sa 10:00-12:00; PH off", "2012-10-02", "2012-10-05",
                ["10-02 10:00 10-02 12:00 open", "10-04 10:00 10-04 12:00 open"]),
            HoursCase(
                "Tu,PH 10:00-12:00", "2012-10-01", "2012-10-08", ["10-02 10:00 10-02 12:00 open", "10-03 10:00 10-03 12:00 open"]),
            HoursCase("PH We 10:00-12:00", "2012-10-01", "2012-10-12", ["10-03 10:00 10-03 12:00 open"]),
            HoursCase("PH -1 day 10:00-12:00", "2012-10-01", "2012-10-12", ["10-02 10:00 10-02 12:00 open"]),
            HoursCase(
                "SH Mo-Fr 10:00-12:00", "2012-10-05", "2012-10-10",
                ["10-08 10:00 10-08 12:00 open", "10-09 10:00 10-09 12:00 open"]),
            HoursCase(
                "10:00-12:00; SH,PH off", "2012-10-03", "2012-10-10",
                ["10-04 10:00 10-04 12:00 open", "10-05 10:00 10-05 12:00 open"]),
            HoursCase("PH: We 10:00-12:00", "2012-10-01", "2012-10-12", ["10-03 10:00 10-03 12:00 open"]),
            HoursCase("Mo,We: PH 10:00-12:00", "2012-10-01", "2012-10-12", ["10-03 10:00 10-03 12:00 open"]),
            HoursCase("Mo-We PH -1 day 10:00-12:00", "2012-10-01", "2012-10-12", ["10-02 10:00 10-02 12:00 open"]),
            HoursCase("We 10:00-12:00", "2012-10-01", "2012-10-08", ["10-03 10:00 10-03 12:00 open"]),
            HoursCase(
                "Oct 5,PH 10:00-12:00", "2012-10-01", "2012-10-08",
                ["10-03 10:00 10-03 12:00 open", "10-05 10:00 10-05 12:00 open"]),
        ])
    func holidays(_ row: HoursCase) throws {
        let school = try #require(LocalTime.date("2012-10-06")).number...#require(LocalTime.date("2012-10-14")).number
        let context = HoursContext(zone: .utc, publicHolidays: try days("2012-10-03"), schoolHolidays: DayRanges([school]))
        try check(row, in: context)
    }

    @Test("Without a list holidays never match, and this is reported")
    func noHolidays() throws {
        let hours = OpeningHours("24/7; PH,SH off")
        let context = HoursContext(zone: .utc)
        #expect(try listing(hours, from: "2012-10-01", to: "2012-10-08") == ["10-01 00:00 10-08 00:00 open"])
        #expect(hours.warnings.isEmpty)
        #expect(hours.warnings(in: context).count == 2)
        #expect(hours.warnings(in: HoursContext(zone: .utc, publicHolidays: try days("2012-10-03"))).count == 1)
    }
}
