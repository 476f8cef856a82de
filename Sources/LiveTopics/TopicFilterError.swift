/// Why a text is not an MQTT topic filter or topic name.
public enum TopicFilterError: Error, Equatable, Sendable {
    /// It has this many bytes; 1 to 65535 are allowed.
    case length(Int)
    case containsNUL
    /// `+` must be a whole level.
    case partialSingleLevel
    /// `#` must be a whole level and the last one.
    case misplacedMultiLevel
    /// A topic name has no `+` or `#`.
    case wildcardInTopic

    /// One sentence for the sender.
    public var message: String {
        switch self {
        case .length(let bytes): "must have 1 to \(TopicFilter.bytesMax) bytes, not \(bytes)"
        case .containsNUL: "must not contain the character U+0000"
        case .partialSingleLevel: "`+` must stand alone in its level"
        case .misplacedMultiLevel: "`#` must stand alone in the last level"
        case .wildcardInTopic: "a topic must not contain `+` or `#`"
        }
    }
}
