import Wire

/// The body of `_bulk_docs`, of which no document is read before its turn.
struct CouchBulk {
    /// The revisions were made elsewhere.
    var isReplicated = false
    /// Where each document is in the body.
    private(set) var documents: [Range<Int>] = []

    init(_ bytes: [UInt8]) throws(WireError) {
        var scanner = JSONScanner(bytes)
        var hasDocuments = false
        try scanner.object { scanner, name throws(WireError) in
            switch name {
            case "docs":
                hasDocuments = true
                documents = try scanner.elements()
            case "new_edits": isReplicated = bytes[try scanner.value()].elementsEqual("false".utf8)
            default: _ = try scanner.value()
            }
        }
        guard hasDocuments else { throw WireError(.invalid, "the body must have `docs`, a list of documents") }
    }
}

/// Finds where values of JSON begin and end; what is in them is read by the caller.
struct JSONScanner {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var notJSON: WireError { WireError(.invalid, "the body is no JSON at byte \(place)") }

    private mutating func skipSpace() {
        while place < bytes.count, bytes[place] == 0x20 || (0x09...0x0D).contains(bytes[place]) { place += 1 }
    }

    /// The next byte that is no space.
    private mutating func next() throws(WireError) -> UInt8 {
        skipSpace()
        guard place < bytes.count else { throw notJSON }
        return bytes[place]
    }

    private mutating func expect(_ byte: UInt8) throws(WireError) {
        guard try next() == byte else { throw notJSON }
        place += 1
    }

    /// A whole text that is an object.
    mutating func object(_ member: (inout JSONScanner, String) throws(WireError) -> Void) throws(WireError) {
        try expect(UInt8(ascii: "{"))
        if try next() == UInt8(ascii: "}") {
            place += 1
        } else {
            while true {
                guard try next() == UInt8(ascii: "\"") else { throw notJSON }
                let name = try value()
                try expect(UInt8(ascii: ":"))
                try member(&self, String(decoding: bytes[name].dropFirst().dropLast(), as: UTF8.self))
                if try next() == UInt8(ascii: "}") { break }
                try expect(UInt8(ascii: ","))
            }
            place += 1
        }
        skipSpace()
        guard place == bytes.count else { throw notJSON }
    }

    private static let elementsMax = 50_000

    /// Where each element of a list is.
    mutating func elements() throws(WireError) -> [Range<Int>] {
        var elements: [Range<Int>] = []
        try expect(UInt8(ascii: "["))
        if try next() == UInt8(ascii: "]") {
            place += 1
            return []
        }
        while true {
            guard elements.count < Self.elementsMax else {
                throw WireError(.tooLarge, "a list has more than \(Self.elementsMax) elements")
            }
            elements.append(try value())
            if try next() == UInt8(ascii: "]") { break }
            try expect(UInt8(ascii: ","))
        }
        place += 1
        return elements
    }

    /// Where the next value is.
    mutating func value() throws(WireError) -> Range<Int> {
        var depth = 0
        let first = try next()
        let start = place
        guard first != UInt8(ascii: ","), first != UInt8(ascii: ":") else { throw notJSON }
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                try skipText()
                if depth == 0 { return start..<place }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return try scalar(from: start) }
                depth -= 1
                if depth == 0 {
                    place += 1
                    return start..<place
                }
            case UInt8(ascii: ","), 0x20, 0x09...0x0D:
                if depth == 0 { return try scalar(from: start) }
            default: break
            }
            place += 1
        }
        throw notJSON
    }

    private func scalar(from start: Int) throws(WireError) -> Range<Int> {
        guard start < place else { throw notJSON }
        return start..<place
    }

    private mutating func skipText() throws(WireError) {
        place += 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") { place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1 }
        guard place < bytes.count else { throw notJSON }
        place += 1
    }
}
