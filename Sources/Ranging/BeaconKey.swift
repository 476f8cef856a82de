/// What identifies a beacon: its proximity UUID, major and minor.
public struct BeaconKey: Hashable, Sendable {
    /// The first eight bytes of the UUID, the first of them highest.
    public var high: UInt64
    public var low: UInt64
    public var major: UInt16
    public var minor: UInt16

    public init(high: UInt64, low: UInt64, major: UInt16, minor: UInt16) {
        self.high = high
        self.low = low
        self.major = major
        self.minor = minor
    }

    /// - Parameter uuid: 32 hexadecimal digits in any case, with hyphens anywhere between them; at most 64 bytes.
    public init?(uuid: some Sequence<UInt8>, major: UInt16, minor: UInt16) {
        var words: (high: UInt64, low: UInt64) = (0, 0)
        var digits = 0
        var bytes = 0
        for byte in uuid {
            bytes += 1
            guard bytes <= 64 else { return nil }
            if byte == UInt8(ascii: "-") { continue }
            guard let value = Self.digit(byte), digits < 32 else { return nil }
            words.high = words.high << 4 | words.low >> 60
            words.low = words.low << 4 | value
            digits += 1
        }
        guard digits == 32 else { return nil }
        self.init(high: words.high, low: words.low, major: major, minor: minor)
    }

    /// Upper case with hyphens, 8-4-4-4-12.
    public var proximityUUID: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                let word = index < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15)) & 15)
                text[place] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
                place += 1
            }
            return place
        }
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}

extension BeaconKey: Comparable {
    public static func < (left: BeaconKey, right: BeaconKey) -> Bool {
        (left.high, left.low, left.major, left.minor) < (right.high, right.low, right.major, right.minor)
    }
}
