/// Kleene's three truth values; `and` is the least, `or` the greatest of its parts.
public enum Truth: Int8, Sendable, Comparable {
    case `false`, unknown, `true`

    public init(_ value: Bool?) {
        switch value {
        case true?: self = .true
        case false?: self = .false
        case nil: self = .unknown
        }
    }

    /// Nil is unknown, as `null` is on the wire.
    public var asBool: Bool? { self == .unknown ? nil : self == .true }

    public static func < (left: Truth, right: Truth) -> Bool { left.rawValue < right.rawValue }
    public static prefix func ! (truth: Truth) -> Truth {
        switch truth {
        case .false: .true
        case .unknown: .unknown
        case .true: .false
        }
    }
}
