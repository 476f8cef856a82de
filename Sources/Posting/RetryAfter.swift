import NIOHTTP1

/// How long an endpoint wants to be left alone.
package enum RetryAfter {
    package static let maximum: Int64 = 3_600_000

    /// Reads the header: a number of seconds, or a date in any of the three forms of RFC 9110 section 5.6.7.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    /// - Returns: Milliseconds, 0…3,600,000; nil where it is neither.
    package static func milliseconds(_ text: String, at now: Int64) -> Int64? {
        let text = text.utf8.drop { $0 == UInt8(ascii: " ") }
        if !text.isEmpty, text.count <= 100, text.allSatisfy({ isDigit($0) }) {
            // More digits than an hour has are more than an hour.
            let significant = text.drop { $0 == UInt8(ascii: "0") }
            return significant.count > 4 ? maximum : min(number(significant[...]) * 1000, maximum)
        }
        guard text.count <= 40, let seconds = seconds(date: String(decoding: text, as: UTF8.self)) else { return nil }
        return min(max(seconds * 1000 - now, 0), maximum)
    }

    /// Seconds since 1970.
    private static func seconds(date: String) -> Int64? {
        let words = date.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
        switch words.count {
        case 6:
            // Sun, 06 Nov 1994 08:49:37 GMT
            guard words[5].elementsEqual("GMT".utf8) else { return nil }
            return seconds(day: words[1], month: words[2], year: words[3], time: words[4])
        case 4:
            // Sunday, 06-Nov-94 08:49:37 GMT
            let parts = words[1].split(separator: UInt8(ascii: "-"))
            guard parts.count == 3, words[3].elementsEqual("GMT".utf8) else { return nil }
            return seconds(day: parts[0], month: parts[1], year: parts[2], time: words[2])
        case 5:
            // Sun Nov  6 08:49:37 1994
            return seconds(day: words[2], month: words[1], year: words[4], time: words[3])
        default: return nil
        }
    }

    private typealias Word = Substring.UTF8View

    private static func seconds(day: Word, month: Word, year: Word, time: Word) -> Int64? {
        guard let day = digits(day, 1...2), (1...31).contains(day), var year = digits(year, 2...4),
            let month = months.firstIndex(where: { $0.utf8.elementsEqual(month) })
        else { return nil }
        // Two digits are the year next to now that ends so; nothing that old is sent by a server of today.
        if year < 100 { year += 2000 }
        let parts = time.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = digits(parts[0], 2...2), let minute = digits(parts[1], 2...2),
            let second = digits(parts[2], 2...2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return days(year: year, month: Int64(month) + 1, day: day) * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Days since 1970. Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func digits(_ word: Word, _ lengths: ClosedRange<Int>) -> Int64? {
        lengths.contains(word.count) && word.allSatisfy { isDigit($0) } ? number(word) : nil
    }

    /// At most a few digits.
    private static func number(_ digits: Word) -> Int64 { digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) } }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

extension RetryAfter {
    /// Of an answer.
    package static func of(_ head: HTTPResponseHead) -> Int64? {
        head.headers.first(name: "Retry-After").flatMap { milliseconds($0, at: WallClock.now()) }
    }
}
