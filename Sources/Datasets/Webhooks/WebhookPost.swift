/// A match to be posted to a webhook, once.
public struct WebhookPost: Equatable, Sendable {
    /// Names this try; its outcome comes back under it.
    public var token: UInt64
    public var url: WebhookURL
    /// Stays the same over every try.
    public var matchID: String
    /// The match as JSON.
    public var body: [UInt8]
    /// Signs the body; of the subscription, never shown.
    public var secret: String?

    public init(token: UInt64, url: WebhookURL, matchID: String, body: [UInt8], secret: String?) {
        self.token = token
        self.url = url
        self.matchID = matchID
        self.body = body
        self.secret = secret
    }
}
