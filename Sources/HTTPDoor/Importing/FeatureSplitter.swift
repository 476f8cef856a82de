import Wire

/// Takes the features out of a file as it comes, in the memory of one feature.
///
/// The text is only looked through for where each feature begins and ends; what is in it, the request that imports it checks.
struct FeatureSplitter {
    enum Form {
        /// A FeatureCollection.
        case collection
        /// A feature for each line.
        case lines
        /// A feature after each record separator (RFC 8142).
        case sequence
    }

    /// What is expected next in a collection.
    private enum Place: Equatable {
        case start
        /// Within the collection, before a member's name.
        case name
        case colon
        case value(Member)
        case element
        case end
    }

    /// A member of the collection.
    private enum Member {
        case features, type, other

        init(_ name: [UInt8]) {
            self = name.elementsEqual("features".utf8) ? .features : name.elementsEqual("type".utf8) ? .type : .other
        }
    }

    /// Bytes of the longest feature, so that a request takes it.
    static let featureBytesMax = 240 << 10

    private let form: Form
    /// What the collection is called in the request that imports it.
    private let parameter: String
    private var place = Place.start
    private var current: [UInt8] = []
    private var depth = 0
    private var isInText = false
    private var isEscaped = false
    private var hasFeatures = false
    private var hasType = false
    private var offset = 0

    init(_ form: Form, as parameter: String = "places") {
        self.form = form
        self.parameter = parameter
    }

    /// Appends the features that ended in these bytes; where it throws, those before what is wrong.
    mutating func take(_ bytes: UnsafeRawBufferPointer, into features: inout [[UInt8]]) throws(WireError) {
        switch form {
        case .collection:
            var index = 0
            while index < bytes.count {
                if place == .element, depth > 0 {
                    index = try readNested(bytes, from: index)
                } else {
                    offset += 1
                    try read(bytes[index], &features)
                    index += 1
                }
            }
        case .lines: try separate(bytes, at: 0x0A, &features)
        case .sequence: try separate(bytes, at: 0x1E, &features)
        }
    }

    /// - Returns: What the end of the file ends.
    mutating func finish() throws(WireError) -> [[UInt8]] {
        guard form == .collection else { return flush() }
        guard place == .end else { throw WireError(.invalid, "the file ends in the middle, after \(offset) bytes") }
        guard hasType else { throw wrong("type", "the file has no `type`: it must be a FeatureCollection") }
        guard hasFeatures else { throw wrong("features", "the file has no `features`: it must be a FeatureCollection") }
        return []
    }

    // MARK: One after the other

    private mutating func separate(
        _ bytes: some Collection<UInt8>, at separator: UInt8, _ features: inout [[UInt8]]
    ) throws(WireError) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: separator) {
            try keep(rest[..<end])
            features += flush()
            offset += 1
            rest = rest[rest.index(after: end)...]
        }
        try keep(rest)
    }

    private mutating func flush() -> [[UInt8]] {
        defer { current.removeAll(keepingCapacity: true) }
        return current.allSatisfy(Self.isSpace) ? [] : [current]
    }

    private mutating func keep(_ byte: UInt8) throws(WireError) {
        guard current.count < Self.featureBytesMax else { throw tooLarge }
        current.append(byte)
    }

    private mutating func keep(_ bytes: some Collection<UInt8>) throws(WireError) {
        offset += bytes.count
        guard current.count + bytes.count <= Self.featureBytesMax else { throw tooLarge }
        current.append(contentsOf: bytes)
    }

    private var tooLarge: WireError {
        WireError(.tooLarge, "a feature has more than \(Self.featureBytesMax >> 10) KiB, at byte \(offset)")
    }

    // MARK: A collection

    private mutating func read(_ byte: UInt8, _ features: inout [[UInt8]]) throws(WireError) {
        if isInText || depth > 0 || !Self.isSpace(byte) {
            switch place {
            case .start: if !Self.isMark(byte) { try expect(byte, UInt8(ascii: "{"), then: .name) }
            case .name: try readName(byte)
            case .colon: try expect(byte, UInt8(ascii: ":"), then: .value(Member(current)))
            case .value(let member): try readValue(byte, of: member)
            case .element: try readElement(byte, &features)
            case .end: throw notJSON
            }
        }
    }

    private func wrong(_ member: String, _ message: String) -> WireError {
        WireError(.invalid, message, field: "\(parameter).\(member)")
    }

    private var notJSON: WireError { WireError(.invalid, "the file is no JSON at byte \(offset)") }

    private mutating func expect(_ byte: UInt8, _ expected: UInt8, then next: Place) throws(WireError) {
        guard byte == expected else { throw notJSON }
        place = next
        current.removeAll(keepingCapacity: true)
    }

    private mutating func readName(_ byte: UInt8) throws(WireError) {
        if isInText {
            if byte == UInt8(ascii: "\""), !isEscaped {
                isInText = false
                place = .colon
            } else {
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                try keep(byte)
            }
            return
        }
        switch byte {
        case UInt8(ascii: "\""):
            isInText = true
            isEscaped = false
            current.removeAll(keepingCapacity: true)
        case UInt8(ascii: ","): break
        case UInt8(ascii: "}"): place = .end
        default: throw notJSON
        }
    }

    private mutating func readValue(_ byte: UInt8, of member: Member) throws(WireError) {
        if member == .features {
            guard byte == UInt8(ascii: "[") else { throw wrong("features", "`features` must be a list") }
            // Of two the last would count, and the first is imported.
            guard !hasFeatures else { throw wrong("features", "the file has `features` twice") }
            hasFeatures = true
            place = .element
            return
        }
        if !isInText, depth == 0, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") {
            if member == .type { try checkType() }
            place = byte == UInt8(ascii: ",") ? .name : .end
            return
        }
        // Of other members nothing is kept.
        if member == .type { try keep(byte) }
        try follow(byte)
    }

    private mutating func checkType() throws(WireError) {
        guard let type = try? JSONValue.parse(current), type == "FeatureCollection" else {
            let shown = String(decoding: current.prefix(80), as: UTF8.self)
            throw wrong("type", "`type` of the file must be \"FeatureCollection\", not \(shown)")
        }
        hasType = true
    }

    private mutating func readElement(_ byte: UInt8, _ features: inout [[UInt8]]) throws(WireError) {
        if !isInText, depth == 0 {
            if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
                features += flush()
                if byte == UInt8(ascii: "]") { place = .name }
                return
            }
        }
        try keep(byte)
        try follow(byte)
    }

    /// Keeps what is within a feature, most of a file, in one piece.
    ///
    /// - Returns: The index behind it.
    private mutating func readNested(_ bytes: UnsafeRawBufferPointer, from start: Int) throws(WireError) -> Int {
        var end = start
        while end < bytes.count, depth > 0 {
            try follow(bytes[end])
            end += 1
        }
        try keep(bytes[start..<end])
        return end
    }

    /// Keeps count of what is open.
    private mutating func follow(_ byte: UInt8) throws(WireError) {
        if isInText {
            if byte == UInt8(ascii: "\""), !isEscaped { isInText = false }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            return
        }
        switch byte {
        case UInt8(ascii: "\""):
            isInText = true
            isEscaped = false
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            guard depth > 0 else { throw notJSON }
            depth -= 1
        default: break
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Of the mark that some programs begin UTF-8 with.
    private static func isMark(_ byte: UInt8) -> Bool { [0xEF, 0xBB, 0xBF].contains(byte) }
}
