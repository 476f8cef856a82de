/// Why a text or levels are no criteria.
public enum CriteriaError: Error, Equatable, Sendable {
    /// A level cannot be read; what a live topic's level would be refused for.
    case level(LiveTopicError)
    /// The dataset is left open.
    case openDataset
    /// Neither seven levels nor a `#` in place of the last ones.
    case levelCount(Int)
    /// `+` or `#` must be a whole level, and `#` the last one.
    case misplacedWildcard

    /// The rule that was broken, as a sentence.
    public var message: String {
        switch self {
        case .level(let error): error.message
        case .openDataset: "the dataset cannot be left open"
        case .levelCount(let count):
            "criteria have the 7 levels dataset/venue/building/floor/room/location/domain or end with `#`, not \(count)"
        case .misplacedWildcard: "`+` must stand alone in its level, `#` alone in the last one"
        }
    }
}
