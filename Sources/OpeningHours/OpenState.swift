/// What opening hours say about an instant.
///
/// `unknown` is an answer of its own: hours that depend on a call, that end open, or that were not understood are neither open
/// nor closed, and the caller must not take them for either.
public enum OpenState: UInt8, Sendable, Hashable {
    case closed = 0
    case open = 1
    case unknown = 2
}
