/// Where bytes cease to be JSON, and what is wrong there: looked for only where they were refused already.
public struct JSONFault: Error, Equatable {
    /// Bytes from 0.
    public var offset: Int
    /// As in `a value is expected, not "}"`.
    public var reason: String

    /// `line 2, column 7: a value is expected, not "}"`; columns count characters (Unicode scalars).
    public func text(in bytes: UnsafeRawBufferPointer) -> String {
        let before = bytes[0..<min(offset, bytes.count)]
        let line = 1 + before.count { $0 == UInt8(ascii: "\n") }
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let column = 1 + before[start...].count { $0 & 0xC0 != 0x80 }
        return "line \(line), column \(column): \(reason)"
    }

    /// The first place that no JSON has; nil where that is not found by looking at the form alone.
    public static func find(in bytes: UnsafeRawBufferPointer) -> JSONFault? {
        var reader = Reader(bytes: bytes)
        return reader.fault()
    }

    /// Looks at each byte once, with one flag for each container that is open.
    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var place = 0
        /// Whether each open container is an object.
        var open: [Bool] = []

        enum Expected: String {
            case value = "a value"
            case valueOrEnd = "a value or \"]\""
            case name = "a name in double quotes"
            case nameOrEnd = "a name in double quotes or \"}\""
            case colon = "\":\""
            case separator = "\",\" or \"}\""
            case element = "\",\" or \"]\""
            case end = "the end"
        }

        mutating func fault() -> JSONFault? {
            var expected = Expected.value
            while true {
                while place < bytes.count, Self.isSpace(bytes[place]) { place += 1 }
                guard place < bytes.count else { return expected == .end ? nil : wrong(expected) }
                let byte = bytes[place]
                switch expected {
                case .end: return wrong(expected)
                case .colon:
                    guard byte == UInt8(ascii: ":") else { return wrong(expected) }
                    place += 1
                    expected = .value
                case .name, .nameOrEnd:
                    if byte == UInt8(ascii: "}"), expected == .nameOrEnd {
                        expected = close()
                        continue
                    }
                    guard byte == UInt8(ascii: "\"") else {
                        guard hasDecimalComma else { return wrong(expected) }
                        return JSONFault(offset: place - 1, reason: "a number has a decimal point, not a comma")
                    }
                    if let fault = string() { return fault }
                    expected = .colon
                case .separator, .element:
                    let isObject = expected == .separator
                    if byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                        expected = close()
                    } else if byte == UInt8(ascii: ",") {
                        place += 1
                        expected = isObject ? .name : .value
                    } else {
                        return wrong(expected)
                    }
                case .value, .valueOrEnd:
                    if byte == UInt8(ascii: "]"), expected == .valueOrEnd {
                        expected = close()
                        continue
                    }
                    guard let next = value(byte) else { return nil }
                    switch next {
                    case .failure(let fault): return fault
                    case .success(let following): expected = following
                    }
                }
            }
        }

        /// nil where the nesting is deeper than what is read.
        private mutating func value(_ byte: UInt8) -> Result<Expected, JSONFault>? {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard open.count < 128 else { return nil }
                let isObject = byte == UInt8(ascii: "{")
                open.append(isObject)
                place += 1
                return .success(isObject ? .nameOrEnd : .valueOrEnd)
            case UInt8(ascii: "\""):
                if let fault = string() { return .failure(fault) }
                return .success(afterValue)
            default:
                let start = place
                while place < bytes.count, Self.isWord(bytes[place]) { place += 1 }
                let word = String(decoding: bytes[start..<min(place, start + 40)], as: UTF8.self)
                if ["true", "false", "null"].contains(word) || Self.isNumber(bytes[start..<place]) {
                    return .success(afterValue)
                }
                if start == place { return .failure(wrong(.value)) }
                place = start
                return .failure(
                    JSONFault(offset: start, reason: "\(Self.shown(word)) is no value of JSON\(advice(for: word))"))
            }
        }

        private var afterValue: Expected { open.last.map { $0 ? .separator : .element } ?? .end }

        private mutating func close() -> Expected {
            open.removeLast()
            place += 1
            return afterValue
        }

        private mutating func string() -> JSONFault? {
            let start = place
            place += 1
            while place < bytes.count {
                switch bytes[place] {
                case UInt8(ascii: "\""):
                    place += 1
                    return nil
                case UInt8(ascii: "\\"): place += 2
                case 0..<0x20:
                    return JSONFault(
                        offset: place, reason: "a line break or control character in a string: write it as \\n or \\u00XX")
                default: place += 1
                }
            }
            return JSONFault(offset: start, reason: "the string that begins here is not closed")
        }

        /// Between digits, where a name should follow.
        private var hasDecimalComma: Bool {
            guard place >= 2, bytes[place - 1] == UInt8(ascii: ",") else { return false }
            return [bytes[place], bytes[place - 2]].allSatisfy { (48...57).contains($0) }
        }

        private func wrong(_ expected: Expected) -> JSONFault {
            guard place < bytes.count else {
                return JSONFault(offset: bytes.count, reason: "\(expected.rawValue) is expected, but the text ends")
            }
            let length = bytes[place] < 0x80 ? 1 : min(4, bytes.count - place)
            let found = String(decoding: bytes[place..<place + length], as: UTF8.self).unicodeScalars.prefix(1)
            var scalars = String.UnicodeScalarView()
            scalars.append(contentsOf: found)
            return JSONFault(offset: place, reason: "\(expected.rawValue) is expected, not \(Self.shown(String(scalars)))")
        }

        private static func shown(_ text: String) -> String { JSONValue.string(text).shown }

        private func advice(for word: String) -> String {
            switch word {
            case "True", "TRUE", "yes": ": write true"
            case "False", "FALSE", "no": ": write false"
            case "None", "nil", "undefined": ": write null"
            // A text alone is not taken anywhere, in double quotes or not.
            case _ where word.first?.isLetter == true && !open.isEmpty: ": write texts in double quotes"
            default: ""
            }
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

        private static func isWord(_ byte: UInt8) -> Bool {
            !isSpace(byte) && byte > 0x20 && !",:[]{}\"".utf8.contains(byte)
        }

        /// The grammar of RFC 8259; what is beyond the range of a double has it too.
        private static func isNumber(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
            var rest = text
            func isDigit(_ byte: UInt8?) -> Bool { byte.map { (48...57).contains($0) } ?? false }
            func takeDigits() -> Int {
                var count = 0
                while isDigit(rest.first) {
                    rest = rest.dropFirst()
                    count += 1
                }
                return count
            }
            if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            let leadsWithZero = rest.first == UInt8(ascii: "0")
            let whole = takeDigits()
            guard whole > 0, !leadsWithZero || whole == 1 else { return false }
            if rest.first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
                guard takeDigits() > 0 else { return false }
            }
            if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
                rest = rest.dropFirst()
                if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
                guard takeDigits() > 0 else { return false }
            }
            return rest.isEmpty
        }
    }
}

extension JSONError {
    /// The sentence for the author of these bytes, with line and column where they cease to be JSON.
    public func message(about bytes: UnsafeRawBufferPointer) -> String {
        switch self {
        case .syntax, .number, .string:
            JSONFault.find(in: bytes).map { "the payload is not JSON: \($0.text(in: bytes))" } ?? message
        case .empty, .tooLarge, .tooDeep, .notUTF8, .outOfMemory: message
        }
    }
}
