/// A list of strings as the JSON text of one column.
///
/// Written by hand: lists are short, mostly empty, and read by the hundred thousand at a start.
package enum ListText {
    package static func encode(_ list: [String]) -> String {
        guard !list.isEmpty else { return "[]" }
        var utf8: [UInt8] = [UInt8(ascii: "[")]
        for (index, text) in list.enumerated() {
            if index > 0 { utf8.append(UInt8(ascii: ",")) }
            utf8.append(UInt8(ascii: "\""))
            for byte in text.utf8 { append(byte, to: &utf8) }
            utf8.append(UInt8(ascii: "\""))
        }
        utf8.append(UInt8(ascii: "]"))
        return String(decoding: utf8, as: UTF8.self)
    }

    private static func append(_ byte: UInt8, to utf8: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            utf8.append(UInt8(ascii: "\\"))
            utf8.append(byte)
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            utf8 += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        default:
            utf8.append(byte)
        }
    }

    /// Nil for text that is not a JSON array of strings.
    package static func decode(_ utf8: UnsafeBufferPointer<UInt8>) -> [String]? {
        // "[]" is nearly every list there is.
        if utf8.count == 2, utf8[0] == UInt8(ascii: "["), utf8[1] == UInt8(ascii: "]") { return [] }
        var reader = Reader(utf8: utf8)
        return reader.list()
    }

    private struct Reader {
        let utf8: UnsafeBufferPointer<UInt8>
        var position = 0

        mutating func list() -> [String]? {
            guard take("[") else { return nil }
            var list: [String] = []
            if !take("]") {
                repeat {
                    guard let text = string() else { return nil }
                    list.append(text)
                } while take(",")
                guard take("]") else { return nil }
            }
            skipSpace()
            return position == utf8.count ? list : nil
        }

        private mutating func string() -> String? {
            guard take("\"") else { return nil }
            var text: [UInt8] = []
            while position < utf8.count {
                let byte = utf8[position]
                position += 1
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"): guard escape(into: &text) else { return nil }
                default: text.append(byte)
                }
            }
            return nil
        }

        private mutating func escape(into text: inout [UInt8]) -> Bool {
            guard position < utf8.count else { return false }
            let byte = utf8[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "u"): return scalar(into: &text)
            default: return false
            }
            return true
        }

        /// `\u` escapes below 0x20 are the only ones written; others come from an operator's hand. Surrogates are refused.
        private mutating func scalar(into text: inout [UInt8]) -> Bool {
            guard position + 4 <= utf8.count else { return false }
            var value: UInt32 = 0
            for _ in 0..<4 {
                guard let digit = Character(UnicodeScalar(utf8[position])).hexDigitValue else { return false }
                value = value << 4 | UInt32(digit)
                position += 1
            }
            guard let scalar = UnicodeScalar(value) else { return false }
            text += Array(String(Character(scalar)).utf8)
            return true
        }

        private mutating func take(_ byte: UnicodeScalar) -> Bool {
            skipSpace()
            guard position < utf8.count, utf8[position] == UInt8(ascii: byte) else { return false }
            position += 1
            return true
        }

        private mutating func skipSpace() {
            while position < utf8.count, [0x20, 0x09, 0x0A, 0x0D].contains(utf8[position]) { position += 1 }
        }
    }
}
