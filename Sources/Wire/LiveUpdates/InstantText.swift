/// Instants that arrive as text.
///
/// Source: RFC 3339, section 5.6, with its notes: `t` and `z` in either case and a space for the `T` are read. A zone
/// is demanded, since a local time is no instant. Second 60 of a leap second is the second after it.
enum InstantText {
    /// Milliseconds since 1970 UTC, negative before; what is finer than a millisecond is cut off.
    static func milliseconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard text.count <= 64 else { return nil }
        var rest = text[...]
        guard let year = number(4, &rest), skip("-", &rest), let month = number(2, &rest), skip("-", &rest),
            let day = number(2, &rest), skip("Tt ", &rest), let hour = number(2, &rest), skip(":", &rest),
            let minute = number(2, &rest), skip(":", &rest), let second = number(2, &rest),
            let fraction = fraction(&rest), let offset = offsetMinutes(&rest), rest.isEmpty
        else { return nil }
        guard (1...12).contains(month), (1...days(month: month, year: year)).contains(day), hour <= 23, minute <= 59,
            second <= 60
        else { return nil }
        let minutes = (dayNumber(year: year, month: month, day: day) * 24 + hour) * 60 + minute - offset
        return (minutes * 60 + second) * 1000 + fraction
    }

    private static func number(_ digits: Int, _ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        guard rest.count >= digits else { return nil }
        var value: Int64 = 0
        for byte in rest.prefix(digits) {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        rest = rest.dropFirst(digits)
        return value
    }

    private static func skip(_ allowed: String, _ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let first = rest.first, allowed.utf8.contains(first) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// The milliseconds of `.123…`; 0 where there is no fraction, nil for a point without digits.
    private static func fraction(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        guard skip(".", &rest) else { return 0 }
        var value: Int64 = 0
        var weight: Int64 = 100
        var digits = 0
        while let digit = number(1, &rest) {
            value += digit * weight
            weight /= 10
            digits += 1
        }
        return digits > 0 ? value : nil
    }

    private static func offsetMinutes(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        if skip("Zz", &rest) { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard skip("+-", &rest), let hours = number(2, &rest), skip(":", &rest), let minutes = number(2, &rest),
            hours <= 23, minutes <= 59
        else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }

    private static func days(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar. Source: H. Hinnant, "chrono-compatible low-level date
    /// algorithms", days_from_civil, for the years 0 to 9999.
    private static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year + 399 : year + 400
        let era = shifted / 400
        let yearOfEra = shifted % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era - 1) * 146_097 + dayOfEra - 719_468
    }
}
