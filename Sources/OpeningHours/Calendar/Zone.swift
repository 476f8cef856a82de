import Foundation
import Synchronization

/// A time zone of the IANA database, as a table of its offsets from 1970 to 2100. Before and after, the first and the last
/// offset hold.
///
/// The one place that asks Foundation, once for each zone: what follows is a search in a sorted array.
public final class Zone: Sendable {
    /// The identifier the zone was asked for with.
    public let identifier: String
    /// When each offset begins, milliseconds since 1970; the first begins with time.
    private let starts: [Int64]
    /// Seconds east of UTC, beside `starts`.
    private let offsets: [Int]

    /// Coordinated Universal Time.
    public static let utc = Zone(identifier: "UTC", starts: [.min], offsets: [0])

    private static let known = Mutex<[String: Zone]>(["UTC": utc])

    /// The zone of an IANA identifier such as `Europe/Berlin`; nil for an unknown one. Zones are made once and shared.
    public static func named(_ identifier: String) -> Zone? {
        known.withLock { zones in
            if let zone = zones[identifier] { return zone }
            guard let zone = Zone(table: identifier) else { return nil }
            // There are some 600 names; should another spelling ever count as one, it is made anew each time.
            if zones.count < 1000 { zones[identifier] = zone }
            return zone
        }
    }

    private init(identifier: String, starts: [Int64], offsets: [Int]) {
        self.identifier = identifier
        self.starts = starts
        self.offsets = offsets
    }

    private convenience init?(table identifier: String) {
        // Foundation also takes `GMT+0130` and other inventions that are no names of the database.
        guard Self.isName(identifier), let zone = TimeZone(identifier: identifier) else { return nil }
        var starts: [Int64] = [.min]
        var time = Date(timeIntervalSince1970: 0)
        var offsets = [zone.secondsFromGMT(for: time)]
        let end = Date(timeIntervalSince1970: 4_102_444_800)
        while starts.count < 1000, let next = zone.nextDaylightSavingTimeTransition(after: time), next > time, next < end {
            time = next
            let offset = zone.secondsFromGMT(for: next)
            if offset == offsets[offsets.count - 1] { continue }
            starts.append(Int64(next.timeIntervalSince1970.rounded()) * 1000)
            offsets.append(offset)
        }
        self.init(identifier: identifier, starts: starts, offsets: offsets)
    }

    private static func isName(_ identifier: String) -> Bool {
        let bytes = identifier.utf8
        guard let first = bytes.first, bytes.count <= 64, first >= 0x41 && first <= 0x5A else { return false }
        if ["GMT+", "GMT-", "UTC+", "UTC-"].contains(where: identifier.hasPrefix) && identifier != "GMT+0"
            && identifier != "GMT-0"
        {
            return false
        }
        return bytes.allSatisfy { byte in
            (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5A) || (byte >= 0x61 && byte <= 0x7A)
                || "/_+-".utf8.contains(byte)
        }
    }

    /// Seconds east of UTC at an instant, milliseconds since 1970 UTC.
    public func offset(at instant: Int64) -> Int { offsets[index(at: instant)] }

    /// The wall clock at an instant, milliseconds since 1970 UTC; seconds are cut off.
    public func local(at instant: Int64) -> LocalTime { Self.local(instant, offset: offset(at: instant)) }

    /// The next instant after one at which the offset changes.
    public func transition(after instant: Int64) -> Int64? {
        let next = index(at: instant) + 1
        return next < starts.count ? starts[next] : nil
    }

    /// The local times that are left out on a day, as minutes of it; nil on all other days.
    func gap(on day: Int) -> Range<Int>? {
        guard starts.count > 1 else { return nil }
        // A gap's local start lies within a day of its instant read as UTC.
        let noon = Self.milliseconds(day: day, minute: 720)
        var position = index(at: noon - 2 * 86_400_000) + 1
        while position < starts.count, starts[position] < noon + 2 * 86_400_000 {
            let before = Self.local(starts[position], offset: offsets[position - 1])
            let skipped = (offsets[position] - offsets[position - 1]) / 60
            if skipped > 0 {
                let from = (before.day - day) * 1440 + before.minute
                let range = (from..<from + skipped).clamped(to: 0..<1440)
                if !range.isEmpty { return range }
            }
            position += 1
        }
        return nil
    }

    private func index(at instant: Int64) -> Int {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= instant { low = middle } else { high = middle }
        }
        return low
    }

    static func milliseconds(day: Int, minute: Int) -> Int64 { (Int64(day) * 1440 + Int64(minute)) * 60_000 }

    /// The wall clock of an instant with an offset in seconds.
    static func local(_ instant: Int64, offset: Int) -> LocalTime {
        // Beyond 270,000 years either way there is no calendar to be right about.
        let seconds = min(max(instant, -8_640_000_000_000_000), 8_640_000_000_000_000) / 1000 + Int64(offset)
        let exact = instant < 0 && instant % 1000 != 0 ? seconds - 1 : seconds
        let minutes = Int((exact >= 0 ? exact : exact - 59) / 60)
        let day = (minutes >= 0 ? minutes : minutes - 1439) / 1440
        return LocalTime(day: day, minute: minutes - day * 1440)
    }
}
