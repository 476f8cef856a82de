/// Finds a text at the top of what was meant as a JSON object and cannot be read as a whole: it is nested too deep, holds what cannot
/// be represented, or lacks its end.
///
/// Each byte is looked at once, without a stack. Nothing is checked beyond what that needs: what is found may be in what is no JSON.
enum TopLevelText {
    /// The value of the last member with this name; nil where that is no string, or no object begins the bytes.
    static func last(_ name: String, of bytes: UnsafeRawBufferPointer, using parser: JSONParser) -> String? {
        guard bytes.count <= 1 << 20, bytes.first(where: { !isSpace($0) }) == UInt8(ascii: "{") else { return nil }
        var depth = 0
        var found: String?
        /// A string at the top that may be a name.
        var candidate: Range<Int>?
        var isNamed = false
        var place = 0
        while place < bytes.count {
            let byte = bytes[place]
            switch byte {
            case UInt8(ascii: "\""):
                guard let end = endOfString(in: bytes, from: place) else { return found }
                if depth == 1, isNamed {
                    found = text(of: bytes, place..<end, using: parser)
                } else if depth == 1 {
                    candidate = place..<end
                }
                place = end
                continue
            case UInt8(ascii: ":") where depth == 1:
                isNamed = candidate.map { text(of: bytes, $0, using: parser) == name } ?? false
                if isNamed { found = nil }
                candidate = nil
            case UInt8(ascii: ",") where depth == 1: isNamed = false
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { return found }
            default: break
            }
            place += 1
        }
        return found
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Behind the closing quotation mark.
    private static func endOfString(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var place = start + 1
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""): return place + 1
            case UInt8(ascii: "\\"): place += 2
            default: place += 1
            }
        }
        return nil
    }

    private static func text(of bytes: UnsafeRawBufferPointer, _ range: Range<Int>, using parser: JSONParser) -> String? {
        guard range.count <= 1024 else { return nil }
        return (try? parser.root(of: UnsafeRawBufferPointer(rebasing: bytes[range]), padded: false))?.asString
    }
}
