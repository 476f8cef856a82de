import Glibc
import Wire

/// Texts from outside, fit for a line on a terminal.
enum PlainText {
    /// Control characters, which could move the cursor or change colours, are written as JSON escapes them.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                let digits = String(scalar.value, radix: 16)
                shown += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// `2026-01-26T15:57:02.000Z` from milliseconds since 1970 UTC; the number itself beyond the year 9999.
    static func instant(_ milliseconds: Int64) -> String {
        guard (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds) else { return "\(milliseconds)" }
        // Rounded down also before 1970.
        let fraction = (milliseconds % 1000 + 1000) % 1000
        var seconds = time_t((milliseconds - fraction) / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let fields = [parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded(Int($0), 2) }
        return "\(padded(Int(parts.tm_year) + 1900, 4))-\(fields[0])-\(fields[1])T\(fields[2]):\(fields[3]):\(fields[4])"
            + ".\(padded(Int(fraction), 3))Z"
    }

    /// A scalar as it is, anything else as JSON.
    static func of(_ value: JSONValue) -> String {
        printable(value.asString ?? String(decoding: value.serialised(), as: UTF8.self))
    }

    /// A number with so many decimals, `.` as the point.
    static func decimal(_ number: Double, _ decimals: Int) -> String {
        var power = 1.0
        for _ in 0..<decimals { power *= 10 }
        let scaled = (abs(number) * power).rounded()
        guard scaled < 9e15 else { return "\(number)" }
        let whole = Int64(scaled)
        let sign = number < 0 && whole > 0 ? "-" : ""
        let divisor = Int64(power)
        return decimals == 0 ? "\(sign)\(whole)" : "\(sign)\(whole / divisor).\(padded(Int(whole % divisor), decimals))"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
