/// Why the bytes of a topic are not a live topic.
public enum LiveTopicError: Error, Equatable, Sendable {
    /// A live topic has exactly seven levels; this one has another number.
    case levelCount(Int)
    /// One level cannot be read; `name` is `venue` … `domain`.
    case level(name: String, problem: Problem)
    case noDataset
    case noDomain
    /// Dataset and domain alone name nothing.
    case nothingBetween
    /// `live` and `geomatch` begin the daemon's own topics.
    case reservedDataset(String)
    /// The first level is not 1–64 of `A-Z a-z 0-9 . _ -`.
    case malformedDataset

    /// What is wrong with a level.
    public enum Problem: Error, Equatable, Sendable {
        /// A `%` that does not begin the encoding of a character that must be encoded.
        case encoding
        case notUTF8
        /// One of `+ #`, a control character or a noncharacter is there unencoded.
        case unencoded
        /// The decoded id has this many bytes; 128 is the most.
        case length(Int)
    }

    /// One sentence for the sender.
    public var message: String {
        switch self {
        case .levelCount(let count):
            "a live topic has the 7 levels dataset/venue/building/floor/room/location/domain, not \(count)"
        case .level(let name, let problem): "level `\(name)` \(problem.message)"
        case .noDataset: "the first level must name a dataset"
        case .noDomain: "the last level must name a domain"
        case .nothingBetween: "at least one of venue, building, floor, room and location must be present"
        case .reservedDataset(let name): "`\(name)` cannot be a dataset"
        case .malformedDataset: "a dataset is named with 1 to 64 of A-Z a-z 0-9 . _ -"
        }
    }

    /// The level the error is about, where it is about one.
    public var field: String? {
        switch self {
        case .levelCount, .nothingBetween: nil
        case .level(let name, _): name
        case .noDataset, .reservedDataset, .malformedDataset: "dataset"
        case .noDomain: "domain"
        }
    }
}

extension LiveTopicError.Problem {
    /// The rule that was broken, as the rest of a sentence about the level.
    public var message: String {
        switch self {
        case .encoding: "may percent-encode only / + # %, control characters and noncharacters"
        case .notUTF8: "must be UTF-8"
        case .unencoded: "must percent-encode / + # %, control characters and noncharacters"
        case .length(let bytes): "must have at most \(Name.idBytesMax) bytes, not \(bytes)"
        }
    }
}
