/// A day of the proleptic Gregorian calendar, without zone.
///
/// Source of the conversions: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2021.
public struct CalendarDay: Sendable, Hashable {
    /// Days since 1970-01-01.
    public let number: Int
    public let year: Int
    /// 1 to 12.
    public let month: Int
    /// 1 to 31.
    public let day: Int

    /// The day with a number of days since 1970-01-01; numbers beyond ±100 million days are taken as those.
    public init(number: Int) {
        let number = min(max(number, -100_000_000), 100_000_000)
        let shifted = number + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        self.number = number
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The day of a date; nil for one that does not exist, or with a year outside 0...9999.
    public init?(year: Int, month: Int, day: Int) {
        guard (0...9999).contains(year), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year) else {
            return nil
        }
        self.init(number: Self.number(year: year, month: month, day: day))
    }

    /// 0 is Monday, 6 is Sunday.
    public var weekday: Int { Self.weekday(of: number) }

    /// The week of ISO 8601, 1 to 53: that of the Thursday beside the day.
    public var week: Int {
        let thursday = CalendarDay(number: number - weekday + 3)
        return (thursday.number - Self.number(year: thursday.year, month: 1, day: 1)) / 7 + 1
    }

    static func weekday(of number: Int) -> Int {
        let remainder = (number + 3) % 7
        return remainder < 0 ? remainder + 7 : remainder
    }

    static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    static func number(year: Int, month: Int, day: Int) -> Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Easter Sunday of the Gregorian calendar. Source: "Anonymous Gregorian algorithm", J. Meeus, Astronomical Algorithms, 1991.
    static func easter(of year: Int) -> Int {
        let golden = year % 19
        let century = year / 100
        let rest = year % 100
        let correction = (century - (century + 8) / 25 + 1) / 3
        let epact = (19 * golden + century - century / 4 - correction + 15) % 30
        let weekday = (32 + 2 * (century % 4) + 2 * (rest / 4) - epact - rest % 4) % 7
        let late = (golden + 11 * epact + 22 * weekday) / 451
        let sum = epact + weekday - 7 * late + 114
        return number(year: year, month: sum / 31, day: sum % 31 + 1)
    }
}
