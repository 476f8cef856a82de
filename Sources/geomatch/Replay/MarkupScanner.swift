/// Cuts XML into tags and text, without judging its structure: enough for GPX, whatever program wrote it.
///
/// Comments, declarations and instructions are left out; of references only the five of XML and numbers are replaced, so no
/// document can make a larger one.
struct MarkupScanner {
    enum Piece: Equatable {
        /// Names come without their namespace prefix; `<a/>` is a start and an end.
        case start(name: String, attributes: [String: String])
        case end(name: String)
        case text(String)
    }

    private let bytes: [UInt8]
    private var index = 0
    /// The line of what was read last, from 1.
    private(set) var line = 1
    private var pendingEnd: String?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// nil at the end, also where a tag is not closed.
    mutating func next() -> Piece? {
        if let name = pendingEnd {
            pendingEnd = nil
            return .end(name: name)
        }
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "<") else { return .text(Self.text(take(until: index(of: "<") ?? bytes.count))) }
            if skip("<!--", to: "-->") || skip("<?", to: "?>") { continue }
            if starts(with: "<![CDATA[") {
                advance(to: index + 9)
                let end = index(of: "]]>") ?? bytes.count
                let text = String(decoding: take(until: end), as: UTF8.self)
                advance(to: min(bytes.count, end + 3))
                return .text(text)
            }
            if skip("<!", to: ">") { continue }
            guard let end = endOfTag() else { break }
            let tag = Array(take(until: end + 1).dropFirst().dropLast())
            return piece(of: tag)
        }
        index = bytes.count
        return nil
    }

    // MARK: Tags

    /// The `>` that ends the tag at `index`: one within quotes does not.
    private func endOfTag() -> Int? {
        var quote: UInt8?
        var place = index + 1
        while place < bytes.count {
            let byte = bytes[place]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                return place
            }
            place += 1
        }
        return nil
    }

    private mutating func piece(of tag: [UInt8]) -> Piece {
        if tag.first == UInt8(ascii: "/") { return .end(name: Self.name(tag.dropFirst())) }
        let isEmpty = tag.last == UInt8(ascii: "/")
        let body = isEmpty ? tag.dropLast() : tag[...]
        let name = Self.name(body)
        if isEmpty { pendingEnd = name }
        return .start(name: name, attributes: Self.attributes(body.drop { !Self.isSpace($0) }))
    }

    private static func name(_ tag: ArraySlice<UInt8>) -> String {
        let qualified = tag.prefix { !isSpace($0) && $0 != UInt8(ascii: "=") }
        let local = qualified.lastIndex(of: UInt8(ascii: ":")).map { qualified[($0 + 1)...] } ?? qualified
        return String(decoding: local, as: UTF8.self)
    }

    private static func attributes(_ text: ArraySlice<UInt8>) -> [String: String] {
        var attributes: [String: String] = [:]
        var rest = text
        while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
            let key = name(rest[..<equals].drop(while: isSpace))
            rest = rest[(equals + 1)...].drop(while: isSpace)
            guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { break }
            rest = rest.dropFirst()
            let end = rest.firstIndex(of: quote) ?? rest.endIndex
            attributes[key] = Self.text(rest[..<end])
            rest = rest[end...].dropFirst()
        }
        return attributes
    }

    // MARK: Text

    /// The text with its references replaced; unknown ones stay as they are.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        var text: [UInt8] = []
        var rest = bytes
        while let ampersand = rest.firstIndex(of: UInt8(ascii: "&")) {
            text += rest[..<ampersand]
            rest = rest[ampersand...]
            // The longest reference is `&#x10FFFF;`.
            guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")),
                let character = character(String(decoding: rest[(ampersand + 1)..<end], as: UTF8.self))
            else {
                text.append(UInt8(ascii: "&"))
                rest = rest.dropFirst()
                continue
            }
            text += Array(String(character).utf8)
            rest = rest[(end + 1)...]
        }
        return String(decoding: text + rest, as: UTF8.self)
    }

    private static func character(_ reference: String) -> Unicode.Scalar? {
        switch reference {
        case "lt": "<"
        case "gt": ">"
        case "amp": "&"
        case "quot": "\""
        case "apos": "'"
        default:
            if reference.hasPrefix("#x") {
                UInt32(reference.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
            } else if reference.hasPrefix("#") {
                UInt32(reference.dropFirst()).flatMap(Unicode.Scalar.init)
            } else {
                nil
            }
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }

    // MARK: Moving on

    private mutating func skip(_ opening: StaticString, to closing: StaticString) -> Bool {
        guard starts(with: opening) else { return false }
        let end = index(of: closing, from: index + opening.utf8CodeUnitCount) ?? bytes.count
        advance(to: min(bytes.count, end + closing.utf8CodeUnitCount))
        return true
    }

    private func starts(with text: StaticString, at place: Int? = nil) -> Bool {
        let place = place ?? index
        guard place + text.utf8CodeUnitCount <= bytes.count else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[place + $0] == text.utf8Start[$0] }
    }

    private func index(of text: StaticString, from start: Int? = nil) -> Int? {
        var place = start ?? index
        while place < bytes.count {
            if starts(with: text, at: place) { return place }
            place += 1
        }
        return nil
    }

    private mutating func take(until end: Int) -> ArraySlice<UInt8> {
        let taken = bytes[index..<end]
        advance(to: end)
        return taken
    }

    private mutating func advance(to end: Int) {
        line += bytes[index..<end].count { $0 == UInt8(ascii: "\n") }
        index = end
    }
}
