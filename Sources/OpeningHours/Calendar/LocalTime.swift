/// A wall-clock time at a place, to the minute.
public struct LocalTime: Sendable, Hashable, Comparable {
    /// Days since 1970-01-01.
    public var day: Int
    /// 0 to 1439.
    public var minute: Int

    public init(day: Int, minute: Int) {
        self.day = day
        self.minute = minute
    }

    /// Reads `YYYY-MM-DDTHH:MM`; nil for anything else and for dates and times that do not exist. `24:00` is not one.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"),
            let date = Self.date(bytes[..<10]), let hour = Self.digits(bytes[11..<13]), let minute = Self.digits(bytes[14...]),
            hour < 24, minute < 60
        else { return nil }
        self.init(day: date.number, minute: hour * 60 + minute)
    }

    /// Reads `YYYY-MM-DD`; nil for anything else and for dates that do not exist.
    public static func date(_ text: String) -> CalendarDay? { date(Array(text.utf8)[...]) }

    private static func date(_ bytes: ArraySlice<UInt8>) -> CalendarDay? {
        let start = bytes.startIndex
        guard bytes.count == 10, bytes[start + 4] == UInt8(ascii: "-"), bytes[start + 7] == UInt8(ascii: "-"),
            let year = digits(bytes[start..<start + 4]), let month = digits(bytes[start + 5..<start + 7]),
            let day = digits(bytes[(start + 8)...])
        else { return nil }
        return CalendarDay(year: year, month: month, day: day)
    }

    private static func digits(_ bytes: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for byte in bytes {
            guard byte >= 0x30 && byte <= 0x39 else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        return value
    }

    /// 0 is Monday, 6 is Sunday.
    public var weekday: Int { CalendarDay.weekday(of: day) }

    public static func < (left: LocalTime, right: LocalTime) -> Bool {
        (left.day, left.minute) < (right.day, right.minute)
    }
}

extension LocalTime: CustomStringConvertible {
    /// `YYYY-MM-DDTHH:MM`
    public var description: String {
        let date = CalendarDay(number: day)
        return "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))T"
            + "\(Self.padded(minute / 60, 2)):\(Self.padded(minute % 60, 2))"
    }

    static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
