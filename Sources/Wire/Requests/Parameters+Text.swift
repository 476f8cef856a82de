import LiveTopics

extension Parameters {
    /// A text of so many characters (Unicode scalar values).
    public func string(_ key: String, characters: ClosedRange<Int> = 0...Int.max) throws(WireError) -> String {
        try required(key, try optionalString(key, characters: characters))
    }

    /// A text of so many bytes of UTF-8.
    public func string(_ key: String, bytes: ClosedRange<Int>) throws(WireError) -> String {
        try required(key, try optionalString(key, bytes: bytes))
    }

    /// A text of so many characters (Unicode scalar values), nil where it is absent.
    public func optionalString(_ key: String, characters: ClosedRange<Int> = 0...Int.max) throws(WireError) -> String? {
        guard let text = try text(key) else { return nil }
        try check(key, text.unicodeScalars.count, in: characters, "characters")
        return text
    }

    /// A text of so many bytes of UTF-8, nil where it is absent.
    public func optionalString(_ key: String, bytes: ClosedRange<Int>) throws(WireError) -> String? {
        guard let text = try text(key) else { return nil }
        try check(key, text.utf8.count, in: bytes, "bytes")
        return text
    }

    /// An id: 1–128 bytes of UTF-8, not `-`.
    public func id(_ key: String = "id") throws(WireError) -> String {
        try required(key, try optionalID(key))
    }

    /// An id, nil where it is absent.
    public func optionalID(_ key: String = "id") throws(WireError) -> String? {
        guard let text = try optionalString(key, bytes: 1...Name.idBytesMax) else { return nil }
        guard Name.isID(text) else { throw error(key, "must be an id", not: .string(text)) }
        return text
    }

    /// One of a few words.
    public func word(_ key: String, of words: [String]) throws(WireError) -> String {
        try required(key, try optionalWord(key, of: words))
    }

    /// One of a few words, nil where it is absent.
    public func optionalWord(_ key: String, of words: [String]) throws(WireError) -> String? {
        guard let value = value(key) else { return nil }
        guard let text = value.asString, words.contains(text) else {
            var refusal = error(key, "must be \(words.map { "\"\($0)\"" }.joined(separator: " or "))", not: value)
            if let near = value.asString.flatMap({ Nearness.nearest(to: $0, of: words) }) {
                refusal.message += "; did you mean `\(near)`?"
            }
            throw refusal
        }
        return text
    }

    /// A list of at most so many texts, nil where it is absent.
    public func optionalStrings(_ key: String, count: ClosedRange<Int> = 0...Int.max) throws(WireError) -> [String]? {
        guard let elements = try optionalArray(key, count: count) else { return nil }
        var texts: [String] = []
        for element in elements {
            guard let text = element.asString else { throw error(key, "must be an array of strings") }
            texts.append(text)
        }
        return texts
    }

    private func text(_ key: String) throws(WireError) -> String? {
        guard let value = value(key) else { return nil }
        guard let text = value.asString else { throw error(key, "must be a string", not: value) }
        return text
    }

    func check(_ key: String, _ count: Int, in range: ClosedRange<Int>, _ unit: String) throws(WireError) {
        guard !range.contains(count) else { return }
        let rule =
            if range.upperBound == Int.max {
                "must have at least \(range.lowerBound) \(unit)"
            } else if range.lowerBound == 0 {
                "must have at most \(range.upperBound) \(unit)"
            } else {
                "must have \(range.lowerBound) to \(range.upperBound) \(unit)"
            }
        throw error(key, "\(rule), not \(count)")
    }
}
