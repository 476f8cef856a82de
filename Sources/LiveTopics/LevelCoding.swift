/// The percent-encoding of one level of a live topic.
///
/// Encoded are exactly `/ + # %`, the control characters U+0000–001F and U+007F–009F and the Unicode
/// noncharacters U+FDD0–FDEF and U+xxFFFE–xxFFFF: what a topic may not contain, or a broker may refuse. Upper-case
/// hexadecimal is written, any case is read. Every id therefore has one encoded form, and two topics are the same
/// exactly when their canonical bytes are. U+0000 cannot be in a topic, but `%00` can, so an id may hold it.
public enum LevelCoding {
    /// The level of an id, never failing: what needs no encoding is left as it is.
    public static func encode(_ id: String) -> String {
        if id.utf8.allSatisfy(isPlain) { return id }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(id.utf8.count + 16)
        for scalar in id.unicodeScalars {
            let encodes = mustEncode(scalar.value)
            for byte in UTF8.encode(scalar)! {
                if encodes {
                    bytes.append(UInt8(ascii: "%"))
                    bytes.append(hexDigit(byte >> 4))
                    bytes.append(hexDigit(byte & 0x0F))
                } else {
                    bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The id of a level; nil for invalid UTF-8, for a `%` that does not begin the encoding of one of the characters
    /// above (`%41`, `%GG`, `%C2`) and for one of these characters that is there unencoded.
    public static func decode(_ level: some Collection<UInt8>) -> String? {
        try? decoded(level)
    }

    /// The id of a level, or what is wrong with it.
    static func decoded(_ level: some Collection<UInt8>) throws(LiveTopicError.Problem) -> String {
        if level.allSatisfy(isPlain) { return String(decoding: level, as: UTF8.self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(level.count)
        var index = level.startIndex
        while index != level.endIndex {
            let byte = level[index]
            level.formIndex(after: &index)
            if byte == UInt8(ascii: "%") {
                bytes.append(contentsOf: try escaped(in: level, from: &index))
            } else {
                var raw = [byte]
                while raw.count < length(leading: byte), index != level.endIndex, level[index] & 0xC0 == 0x80 {
                    raw.append(level[index])
                    level.formIndex(after: &index)
                }
                guard let value = scalar(raw) else { throw .notUTF8 }
                guard !mustEncode(value) else { throw .unencoded }
                bytes.append(contentsOf: raw)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a scalar value may not be in a level unencoded.
    static func mustEncode(_ value: UInt32) -> Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0xFDD0...0xFDEF: true
        case 0x23, 0x25, 0x2B, 0x2F: true
        default: value & 0xFFFE == 0xFFFE
        }
    }

    /// Whether a text may be a path of levels: it has no wildcards, control characters or noncharacters (MQTT 5, sections 1.5.4 and 4.7.1).
    public static func isPath(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value == 0x25 || $0.value == 0x2F || !mustEncode($0.value) }
    }

    /// The bytes of the one encoded character whose first `%` was just read.
    private static func escaped<Level: Collection<UInt8>>(
        in level: Level, from index: inout Level.Index
    ) throws(LiveTopicError.Problem) -> [UInt8] {
        var bytes: [UInt8] = []
        var expected = 1
        repeat {
            if !bytes.isEmpty {
                guard index != level.endIndex, level[index] == UInt8(ascii: "%") else { throw .encoding }
                level.formIndex(after: &index)
            }
            guard let high = hexValue(in: level, at: &index), let low = hexValue(in: level, at: &index) else {
                throw .encoding
            }
            bytes.append(high << 4 | low)
            if bytes.count == 1 { expected = length(leading: bytes[0]) }
        } while bytes.count < expected
        guard let value = scalar(bytes), mustEncode(value) else { throw .encoding }
        return bytes
    }

    private static func hexValue<Level: Collection<UInt8>>(in level: Level, at index: inout Level.Index) -> UInt8? {
        guard index != level.endIndex else { return nil }
        let byte = level[index]
        level.formIndex(after: &index)
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): return byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): return byte - UInt8(ascii: "a") + 10
        default: return nil
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// Printable ASCII that is never encoded: nearly every level consists of it.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x1F && byte < 0x7F && !mustEncode(UInt32(byte))
    }

    /// How many bytes the scalar that begins with `byte` has; 1 for a byte that cannot begin one.
    private static func length(leading byte: UInt8) -> Int {
        switch byte {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 1
        }
    }

    /// The scalar that `bytes` are, or nil where they are not exactly one in UTF-8.
    private static func scalar(_ bytes: [UInt8]) -> UInt32? {
        guard let text = String(validating: bytes, as: UTF8.self), let first = text.unicodeScalars.first,
            text.utf8.count == UTF8.width(first)
        else { return nil }
        return first.value
    }
}
