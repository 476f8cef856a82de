/// Finds the `requestId` of a payload that cannot be read as a whole: a number that is not finite, lists nested too deep, an end that
/// is missing. Its reply is still to reach who waits for it.
enum RequestIDSearch {
    /// The first `requestId` among the members of the object, as a text with its quotes; nil where there is none.
    static func token(in payload: UnsafeRawBufferPointer) -> Range<Int>? {
        var depth = 0
        var isKey = false
        var index = 0
        while index < payload.count {
            switch payload[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if depth == 1 {
                    guard payload[index] == UInt8(ascii: "{") else { return nil }
                    isKey = true
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { return nil }
            case UInt8(ascii: ","): isKey = isKey || depth == 1
            case UInt8(ascii: "\""):
                guard depth > 0, let text = text(from: index, in: payload) else { return nil }
                if isKey, depth == 1 {
                    isKey = false
                    if payload[text].elementsEqual(key) { return value(after: text.upperBound, in: payload) }
                }
                index = text.upperBound - 1
            case let byte where depth == 0 && !isSpace(byte): return nil
            default: break
            }
            index += 1
        }
        return nil
    }

    private static let key = Array("\"requestId\"".utf8)

    /// A text that begins with the quotation mark at an index, with both marks.
    private static func text(from start: Int, in payload: UnsafeRawBufferPointer) -> Range<Int>? {
        var index = start + 1
        while index < payload.count {
            switch payload[index] {
            case UInt8(ascii: "\\"): index += 2
            case UInt8(ascii: "\""): return start..<index + 1
            default: index += 1
            }
        }
        return nil
    }

    private static func value(after key: Int, in payload: UnsafeRawBufferPointer) -> Range<Int>? {
        var index = key
        func skipSpace() { while index < payload.count, isSpace(payload[index]) { index += 1 } }
        skipSpace()
        guard index < payload.count, payload[index] == UInt8(ascii: ":") else { return nil }
        index += 1
        skipSpace()
        guard index < payload.count, payload[index] == UInt8(ascii: "\"") else { return nil }
        return text(from: index, in: payload)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
