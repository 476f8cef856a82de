public import Foundation

/// Why a request, a subscription or the connection failed.
///
/// Compare ``kind``, show ``message``. An error the daemon sent carries what the wire says: ``code``, ``field`` and
/// ``position``. Others are this library's own.
public struct GeomatchError: Error, Hashable, Sendable {
    /// What kind of failure it is: `error` on the wire. New kinds may come; compare with those you can act on.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public var kind: Kind
    /// The number that goes with ``kind``, as in HTTP; 0 where this library is the source.
    public var code: Int
    /// One sentence for people: the rule, and the value that broke it.
    public var message: String
    /// The parameter, property or topic level it is about.
    public var field: String?
    /// Characters from 0 in the expression that ``field`` holds.
    public var position: Int?

    public init(_ kind: Kind, _ message: String, code: Int = 0, field: String? = nil, position: Int? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.field = field
        self.position = position
    }
}

extension GeomatchError.Kind {
    // What the daemon says.

    /// Malformed or out of limits (400).
    public static let invalid = Self(rawValue: "invalid")
    /// The client name may not do this at all (401).
    public static let unauthorized = Self(rawValue: "unauthorized")
    /// The object belongs to another client (403).
    public static let forbidden = Self(rawValue: "forbidden")
    /// A maximum is reached (403), the daemon's or, with code 0, this library's.
    public static let limit = Self(rawValue: "limit")
    /// No such object (404).
    public static let notFound = Self(rawValue: "notFound")
    /// No such dataset (404).
    public static let unknownDataset = Self(rawValue: "unknownDataset")
    /// The id exists, or the revision is stale (409).
    public static let conflict = Self(rawValue: "conflict")
    /// Larger than the daemon or the broker takes (413).
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// Known, but not offered by this daemon (501).
    public static let unsupported = Self(rawValue: "unsupported")
    /// The daemon's fault (500).
    public static let `internal` = Self(rawValue: "internal")

    // What this library says.

    /// No answer in time. It may still have been carried out; the same request with the same request id is carried out once.
    public static let timeout = Self(rawValue: "timeout")
    /// The task that waited was cancelled.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The client was closed.
    public static let closed = Self(rawValue: "closed")
    /// The broker does not take these credentials or this client: only somebody's action helps, so nothing is tried again.
    public static let refused = Self(rawValue: "refused")
    /// The broker's access list forbids a topic.
    public static let topicRefused = Self(rawValue: "topicRefused")
    /// There is no connection at the moment. It is tried again.
    public static let connectionLost = Self(rawValue: "connectionLost")
    /// A message that does not follow the contract.
    public static let malformed = Self(rawValue: "malformed")
    /// A local file could not be read or written.
    public static let file = Self(rawValue: "file")
}

extension GeomatchError: CustomStringConvertible {
    public var description: String {
        var text = "\(kind.rawValue): \(message)"
        if let field { text += " (field \(field)\(position.map { ", position \($0)" } ?? ""))" }
        return text
    }
}

extension GeomatchError: LocalizedError {
    /// What applications show by `localizedDescription`.
    public var errorDescription: String? { message }
    public var failureReason: String? { field.map { "\(kind.rawValue), field \($0)" } ?? kind.rawValue }
}
