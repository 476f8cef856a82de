import CSimdJSON

/// Why bytes are not JSON that is read here.
public enum JSONError: Error, Equatable, Sendable {
    case empty
    /// Above 1 MiB; not looked at.
    case tooLarge
    /// Containers within containers beyond 64.
    case tooDeep
    case notUTF8
    /// A number that is malformed or beyond the range of a double.
    case number
    /// A string that is not closed, or holds a raw control character, a bad escape or half a surrogate pair.
    case string
    case syntax
    case outOfMemory

    init(code: Int32) {
        self =
            switch Int(code) {
            case Int(GEOMATCH_JSON_TOO_LARGE): .tooLarge
            case Int(GEOMATCH_JSON_TOO_DEEP): .tooDeep
            case Int(GEOMATCH_JSON_NOT_UTF8): .notUTF8
            case Int(GEOMATCH_JSON_NUMBER): .number
            case Int(GEOMATCH_JSON_STRING_LITERAL): .string
            case Int(GEOMATCH_JSON_EMPTY): .empty
            case Int(GEOMATCH_JSON_MEMORY): .outOfMemory
            default: .syntax
            }
    }

    /// One sentence for the sender.
    public var message: String {
        switch self {
        case .empty: "the payload is empty, not JSON"
        case .tooLarge: "the payload is larger than 1 MiB"
        case .tooDeep: "the payload is nested deeper than \(GEOMATCH_JSON_DEPTH_MAX) levels"
        case .notUTF8: "the payload is not JSON: it is not UTF-8"
        case .number: "the payload is not JSON: a number is malformed or too large"
        case .string: "the payload is not JSON: a string is malformed"
        case .syntax: "the payload is not JSON"
        case .outOfMemory: "no memory to read the payload"
        }
    }
}
