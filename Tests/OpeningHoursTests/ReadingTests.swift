import OpeningHours
import SeededRandom
import Testing

@Suite("Reading opening hours")
struct ReadingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var text: String
        var normalised: String
        var testDescription: String { text }

        init(_ text: String, _ normalised: String) {
            self.text = text
            self.normalised = normalised
        }
    }

    @Test(
        "Well-formed text is kept and warns of nothing",
        arguments: [
            "24/7", "off", "closed", "unknown", "\"by appointment\"", "Mo-Fr 08:00-12:00,14:00-18:00; Sa,Su off", "PH off",
            "Mo-Sa,PH 10:00-18:00", "SH Mo-Fr 10:00-12:00", "Jan-Mar,Jun 10:00-12:00", "Dec 25 off", "Dec 24-26 off",
            "Jun 15-Jul 31 20:45-24:00",
            "2021 Apr 01-02 08:00-18:30", "2013-2015/2 Jan Mo 10:00-11:00", "2020+ 10:00-11:00", "week 01-53/2 Mo 10:00-12:00",
            "Fr[-1] 10:00-12:00",
            "Sa[1,3] +1 day 10:00-12:00", "sunrise-sunset", "(sunrise+01:00)-(sunset-00:30)", "dawn-22:00", "17:00+",
            "14:00-17:00+",
            "Mo 10:00-12:00 || \"call\"", "Mo 10:00-12:00, Tu 14:00-16:00", "easter -2 days off", "Mo 10:00-36:00", "22:00-02:00",
            "Mo 10:00-12:00 open \"ring\"", "\"Summer\": Mo 10:00-12:00", "PH -1 day 10:00-12:00",
            "Mar Su[-1]-Oct Su[-1] 10:00-12:00", "Jan Su[1] +2 days-Jan Su[3] -2 days", "Jan Mo[1]-15 10:00-12:00",
            "Jan 01-31/8 10:00-12:00", "2012 Jan 01-31/8", "2012/4 Feb 29", "3000-3005 Mo 10:00-12:00", "PH We,Fr",
        ])
    func kept(_ text: String) {
        let hours = OpeningHours(text)
        #expect(hours.normalised == text)
        #expect(hours.warnings.isEmpty)
        #expect(hours.isUnderstood)
    }

    @Test(
        "What is written otherwise is understood",
        arguments: [
            Row("mo-fr 8:30-18:00", "Mo-Fr 08:30-18:00"),
            Row("MO-FR 08:30-18:00", "Mo-Fr 08:30-18:00"),
            Row("Mo-Fr 8-18", "Mo-Fr 08:00-18:00"),
            Row("Mo-Fr 8³⁰-18⁰⁰", "Mo-Fr 08:30-18:00"),
            Row("Mo ⁰⁰:³⁰-¹⁴:⁰⁹", "Mo 00:30-14:09"),
            Row("always", "24/7"),
            Row("nonstop", "24/7"),
            Row("24x7", "24/7"),
            Row("Closed on Sundays", "Su closed"),
            Row("closed Mo, Tu", "Mo,Tu closed"),
            Row("open Mo-Fr 10:00-12:00", "Mo-Fr 10:00-12:00"),
            Row("\"call\" Mo 10:00-12:00", "Mo 10:00-12:00 \"call\""),
            Row("Mo-Fr 08.00-18.30", "Mo-Fr 08:00-18:30"),
            Row("Mo-Fr 8h30-18h", "Mo-Fr 08:30-18:00"),
            Row("Mo-Fr 8h-18h30", "Mo-Fr 08:00-18:30"),
            Row("Mo-Fr 9am-5pm", "Mo-Fr 09:00-17:00"),
            Row("Mo-Fr 9:30 AM - 5:00 PM", "Mo-Fr 09:30-17:00"),
            Row("9-5pm", "09:00-17:00"),
            Row("1-5pm", "13:00-17:00"),
            Row("9am-5", "09:00-17:00"),
            Row("10 a.m. - 12 p.m.", "10:00-12:00"),
            Row("6pm-12am", "18:00-24:00"),
            Row("12am-12pm", "00:00-12:00"),
            Row("Mo-Fr 08:00–18:00", "Mo-Fr 08:00-18:00"),
            Row("Mo—Fr 08:00 − 18:00", "Mo-Fr 08:00-18:00"),
            Row("Mo 12:00→14:00", "Mo 12:00-14:00"),
            Row("Mo 12:00=14:00", "Mo 12:00-14:00"),
            Row("Mo 12:00 às 14:00", "Mo 12:00-14:00"),
            Row("24/7 closed: \"moved\"", "closed \"moved\""),
            Row("24/7: closed", "closed"),
            Row("Mo to Fr 08:00 to 18:00", "Mo-Fr 08:00-18:00"),
            Row("Mo-Fr from 08:00 until 18:00", "Mo-Fr 08:00-18:00"),
            Row("Mo-Fr08:00-18:00;Sa10:00-12:00", "Mo-Fr 08:00-18:00; Sa 10:00-12:00"),
            Row("  Mo - Fr   08:00 - 18:00 ; Sa off ; ", "Mo-Fr 08:00-18:00; Sa off"),
            Row("Mo.-Fr.: 09:00-19:00, Sa.: 10:00-16:00", "Mo-Fr 09:00-19:00, Sa 10:00-16:00"),
            Row("Monday-Friday 08:00-18:00", "Mo-Fr 08:00-18:00"),
            Row("Mon-Fri 08:00-18:00", "Mo-Fr 08:00-18:00"),
            Row("Tues, Thurs 08:00-18:00", "Tu,Th 08:00-18:00"),
            Row("Sundays 10:00-12:00", "Su 10:00-12:00"),
            Row("January-March 10:00-12:00", "Jan-Mar 10:00-12:00"),
            Row("Mo-Fr: 08:00-18:00", "Mo-Fr 08:00-18:00"),
            Row("Aug-Feb: 15:00-24:00; Mo off", "Aug-Feb 15:00-24:00; Mo off"),
            Row("Mo-Fr ٠٨:٠٠-١٨:٠٠", "Mo-Fr 08:00-18:00"),
            Row("Ｍｏ－Ｆｒ　０８：００－１８：００；Ｓａ　ｏｆｆ", "Mo-Fr 08:00-18:00; Sa off"),
            Row("PH,Mo-Sa 10:00-12:00", "PH,Mo-Sa 10:00-12:00"),
            Row("Mo,PH,Sa 10:00-12:00", "Mo,PH,Sa 10:00-12:00"),
            Row("Mo-Fr 09:00-19:00, Ph off", "Mo-Fr 09:00-19:00, PH off"),
            Row("public holidays closed", "PH closed"),
            Row("school holidays: 10:00-12:00", "SH 10:00-12:00"),
            Row("Mo & Th and Fr 10:00-12:00", "Mo,Th,Fr 10:00-12:00"),
            Row("weekend 10:00-12:00", "Sa-Su 10:00-12:00"),
            Row("daily 10:00-12:00", "Mo-Su 10:00-12:00"),
            Row("open", "24/7"),
            Row("24 hours", "24/7"),
            Row("0-24", "00:00-24:00"),
            Row("Mo 24/7", "Mo 00:00-24:00"), Row("Mo open, Tu off", "Mo open, Tu off"),
            Row("Mo 10:00-12:00 open, 13:00-14:00", "Mo 10:00-12:00 open, 13:00-14:00"),
            Row("noon-midnight", "12:00-24:00"),
            Row("17:00-late", "17:00+"),
            Row("17:00 - open end", "17:00+"),
            Row("0800-1830", "08:00-18:30"),
            Row("08:00:00-18:30:00", "08:00-18:30"),
            Row("10:00-12:00 Mo-Fr", "Mo-Fr 10:00-12:00"),
            Row("10:00-18:00 Mo-Fr, 10:00-14:00 Sa", "Mo-Fr 10:00-18:00, Sa 10:00-14:00"),
            Row("closed Su", "Su closed"),
            Row("Mo 08:00-12:00 Tu 14:00-16:00", "Mo 08:00-12:00, Tu 14:00-16:00"),
            Row("Mo 08:00-12:00 14:00-16:00", "Mo 08:00-12:00,14:00-16:00"),
            Row("Mo 08:00-12:00 and 14:00-16:00", "Mo 08:00-12:00,14:00-16:00"),
            Row("Mo, 08:00-12:00", "Mo 08:00-12:00"),
            Row("Mo Jan 08:00-12:00", "Jan Mo 08:00-12:00"),
            Row("Dec 25,26,PH off", "Dec 25,Dec 26 off; PH off"),
            Row("Mo-Fr,", "Mo-Fr"),
            Row("Mo-Fr,; 10:00-12:00,", "Mo-Fr; 10:00-12:00"),
            Row("24 Dec-6 Jan off", "Dec 24-Jan 06 off"),
            Row("24. December off", "Dec 24 off"),
            Row("Dec 25th off", "Dec 25 off"),
            Row("Montag bis Freitag 8 bis 18 Uhr", "Mo-Fr 08:00-18:00"),
            Row("“by appointment”", "\"by appointment\""),
            Row("Mo 10:00-12:00 \"ring", "Mo 10:00-12:00 \"ring\""),
            Row("Dec 24:10:00-14:00", "Dec 24 10:00-14:00"), Row("week01:10:00-12:00", "week 01 10:00-12:00"),
            Row("Sep01-Jul01:10:00-12:00", "Sep 01-Jul 01 10:00-12:00"), Row("Dec 24,26:10:00+", "Dec 24,Dec 26 10:00+"),
            Row("Dec 08:00:00-18:30:00", "Dec 08:00-18:30"), Row("We,Fr: PH", "PH We,Fr"), Row("SH: Mo-Fr", "SH Mo-Fr"),
            Row("PH -1 day SH Mo-We", "PH -1 day,SH Mo-We"), Row("Mo-We PH -1 day", "PH -1 day Mo-We"), Row("2014/1", "2014+"),
        ])
    func lenient(_ row: Row) {
        let hours = OpeningHours(row.text)
        #expect(hours.normalised == row.normalised)
        #expect(hours.isUnderstood)
        #expect(OpeningHours(row.normalised).normalised == row.normalised)
    }

    @Test(
        "A guess is reported by a warning",
        arguments: [
            "week 40-30", "week 30-40/1", "week 30-40/27", "week week 05", "2014-2014", "2014-2020/1", "Jan,,Dec", "Mo,,Th",
            "We 12:00-18:00,,", "Mo 10:00-12:00,,13:00-14:00", "„x„", "»x«", "\"x«", "|| open", "open ||", "Mo off;; Tu off",
            "Fr11:00-12:00", "Dec 24:10:00-14:00", "Jun 30-24", "Mo[2] -7 days", "Mo[2] -0 days", "Tu 23:59-48:00+",
            "easter -2 days-2012 easter +2 days", "2012 easter -2 days-easter +2 days", "2014, Aug Mo", "We, Aug Mo",
            "week 05, Aug Mo", "Jan-Feb Jan 09-15",
        ])
    func guesses(_ text: String) {
        let hours = OpeningHours(text)
        #expect(hours.isUnderstood)
        #expect(!hours.warnings.isEmpty)
        #expect(OpeningHours(hours.normalised).normalised == hours.normalised)
    }

    @Test(
        "What is not understood is unknown all the time, and reported",
        arguments: [
            "", " ", ";;", "summer", "call us", "Mo-Fr 10", "10:00", "10:00-25:61", "Mo-Fr 25:00-26:00", "Mo-Fr 10:00-49:00",
            "10:00-18:00/30",
            "Jan 32 10:00-12:00", "Feb 30", "week 54 10:00-12:00", "week 10:00-12:00", "Mo[6] 10:00-12:00", "Mo[0]", "Mo[",
            "Mo[1", "2015-2013 10:00-12:00",
            "2013/0", "(sunrise+01:00-12:00", "sunrise", "Mo-", "-Mo", "Mo-Xy 10:00-12:00", "open closed", "13pm-14pm", "0am-5pm",
            "Mo-Fr 10:00-12:00!",
            "Mo/Tu 10:00-12:00", "2021 Fr 2021 Apr 10:00-12:00", "99999999999999999999:00-12:00", "week 52-2/3",
            "PH +9999 days off", "Mo 10:00-12:60", "24/8",
            "+", "[1]", ":", "10:00-12:00:",
        ])
    func unknown(_ text: String) throws {
        let hours = OpeningHours(text)
        #expect(!hours.isUnderstood)
        #expect(!hours.warnings.isEmpty)
        #expect(try listing(hours, from: "2012-02-29", to: "2012-03-02") == ["02-29 00:00 03-02 00:00 unknown"])
        #expect(OpeningHours(hours.normalised).normalised == hours.normalised)
    }

    @Test("A rule that is not understood makes unknown what may depend on it, and nothing else")
    func partly() throws {
        let expected = [
            "Mo 10:00-12:00; summer off": ["10-01 00:00 10-04 00:00 unknown"],
            "Mo 10:00-12:00, whenever": ["10-01 00:00 10-04 00:00 unknown"],
            "whenever; Tu 10:00-12:00": [
                "10-01 00:00 10-02 00:00 unknown", "10-02 10:00 10-02 12:00 open", "10-03 00:00 10-04 00:00 unknown",
            ],
            "Mo 10:00-12:00 || whenever": [
                "10-01 00:00 10-01 10:00 unknown", "10-01 10:00 10-01 12:00 open", "10-01 12:00 10-04 00:00 unknown",
            ],
        ]
        for (text, intervals) in expected {
            let hours = OpeningHours(text)
            #expect(try listing(hours, from: "2012-10-01", to: "2012-10-04") == intervals, "\(text)")
            #expect(hours.warnings.count == 1, "\(text)")
            #expect(hours.normalised == text)
        }
    }

    @Test("Text, rules, parts and warnings are bounded, and the bound makes the hours unknown")
    func bounds() throws {
        let all = ["10-01 00:00 10-02 00:00 unknown"]
        let rule = "Mo 10:00-12:00;"
        for text in [
            String(repeating: " ", count: 4097), String(repeating: "é", count: 5000), String(repeating: "\u{1F600}", count: 4097),
            String(repeating: rule, count: OpeningHours.rulesMax + 1),
            "Mo " + Array(repeating: "1-2", count: OpeningHours.partsMax + 1).joined(separator: ","),
        ] {
            let hours = OpeningHours(text)
            #expect(hours.warnings.count == 1)
            #expect(try listing(hours, from: "2012-10-01", to: "2012-10-02") == all)
        }
        #expect(OpeningHours(String(repeating: rule, count: OpeningHours.rulesMax)).isUnderstood)
        #expect(OpeningHours((0..<100).map { "word\($0)" }.joined(separator: ";")).warnings.count == 16)
    }

    @Test("Any text is read in the same way twice, and its canonical form means the same")
    func anything() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<1500 {
            let text = RandomHours.soup(&random)
            let hours = OpeningHours(text)
            let again = OpeningHours(hours.normalised)
            #expect(again.normalised == hours.normalised, "\(text)")
            #expect(
                try listing(again, from: "2020-02-28", to: "2020-03-02") == listing(hours, from: "2020-02-28", to: "2020-03-02"),
                "\(text)")
        }
    }
}
