/// An MQTT topic filter and its matching rules.
///
/// Source: MQTT 3.1.1 and MQTT 5.0, section 4.7. Comparison is by bytes. A filter that begins with `$share/` is
/// taken by its letters here: sharing is the broker's affair and changes where a message goes, not what matches.
public struct TopicFilter: Sendable {
    enum Level: Sendable {
        case exact([UInt8])
        case any
        case rest
    }

    let levels: [Level]

    static let bytesMax = 65_535

    public init(_ text: String) throws(TopicFilterError) {
        try Self.checkText(text)
        var levels: [Level] = []
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            switch (part.count, part.contains(UInt8(ascii: "+")), part.contains(UInt8(ascii: "#"))) {
            case (_, false, false): levels.append(.exact(Array(part)))
            case (1, true, _): levels.append(.any)
            case (1, _, true) where index == parts.count - 1: levels.append(.rest)
            case (_, _, true): throw .misplacedMultiLevel
            default: throw .partialSingleLevel
            }
        }
        self.levels = levels
    }

    /// Whether a message with this topic is delivered to a subscription with this filter.
    ///
    /// The topic is expected to be a valid one (``validateTopic(_:)``).
    public func matches(_ topic: String) -> Bool {
        var topic = topic
        return topic.withUTF8 { matches($0) }
    }

    /// Throws unless `topic` can be the topic name of a message.
    public static func validateTopic(_ topic: String) throws(TopicFilterError) {
        try checkText(topic)
        guard !topic.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }) else {
            throw .wildcardInTopic
        }
    }

    private func matches(_ topic: UnsafeBufferPointer<UInt8>) -> Bool {
        // Topics that begin with `$` belong to the broker and are not found by a wildcard.
        if topic.first == UInt8(ascii: "$"), case .any = levels[0] { return false }
        if topic.first == UInt8(ascii: "$"), case .rest = levels[0] { return false }
        // One past the end means that no level is left; at the end, that an empty one is.
        var start = 0
        for level in levels {
            // `a/#` matches `a` too, so `#` is looked at before what is left.
            if case .rest = level { return true }
            guard start <= topic.count else { return false }
            let end = topic[start...].firstIndex(of: UInt8(ascii: "/")) ?? topic.count
            if case .exact(let bytes) = level, !topic[start..<end].elementsEqual(bytes) { return false }
            start = end + 1
        }
        return start > topic.count
    }

    private static func checkText(_ text: String) throws(TopicFilterError) {
        guard (1...bytesMax).contains(text.utf8.count) else { throw .length(text.utf8.count) }
        guard !text.utf8.contains(0) else { throw .containsNUL }
    }
}
