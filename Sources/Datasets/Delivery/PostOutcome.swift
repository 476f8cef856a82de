/// What became of one try to post something to a webhook or a push service.
public enum PostOutcome: Equatable, Sendable {
    /// The endpoint answered with this status, 200…299.
    case taken(status: Int)
    /// Not this time. `reason` is short and never quotes what the endpoint sent; `retryAfter` is how many milliseconds it wants to be
    /// left alone, 0…3,600,000, where it said so.
    case failed(reason: String, retryAfter: Int64?)
    /// Not before the operator changes something: a key, a certificate, the configuration.
    case misconfigured(reason: String)
    /// Never: the address policy forbids the address that was to be connected to, or this message is refused for good.
    case refused(reason: String)
    /// Never, and nothing else either: the token or the browser's subscription is not valid any more.
    case gone(reason: String)
}
