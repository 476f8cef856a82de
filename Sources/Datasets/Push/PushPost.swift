/// A message to be handed to a push service, once.
public struct PushPost: Equatable, Sendable {
    /// Names this try; its outcome comes back under it.
    public var token: UInt64
    public var target: PushTarget
    /// Of the match or event; the same over every try.
    public var id: String
    /// What is said, as JSON: ids, a topic, an event and, where its owner wants one, `notification` with `title` and `body`.
    public var message: [UInt8]
    /// Messages with the same are about the same pair: the service need keep the newest only.
    public var pair: String
    /// When nobody needs it any more; milliseconds since 1970 UTC.
    public var expiresAt: Int64

    public init(token: UInt64, target: PushTarget, id: String, message: [UInt8], pair: String, expiresAt: Int64) {
        self.token = token
        self.target = target
        self.id = id
        self.message = message
        self.pair = pair
        self.expiresAt = expiresAt
    }
}

/// What became of a ``PushPost``.
public struct PushResult: Sendable {
    public var token: UInt64
    public var kind: PushKind
    public var outcome: PostOutcome

    public init(token: UInt64, kind: PushKind, outcome: PostOutcome) {
        self.token = token
        self.kind = kind
        self.outcome = outcome
    }
}

/// Which push services an operator has set up.
public struct PushOffer: Sendable {
    public var apns = false
    public var fcm = false
    /// The public key of `push.web`, base64url: browsers subscribe with it; nil where that is not set up.
    public var webKey: String?
    /// Whether bytes are a point that can be encrypted for.
    public var isPublicKey: @Sendable ([UInt8]) -> Bool = { _ in true }

    public init() {}

    func has(_ kind: PushKind) -> Bool {
        switch kind {
        case .apns: apns
        case .fcm: fcm
        case .web: webKey != nil
        }
    }
}
