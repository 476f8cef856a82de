/// The first reply to a client's `requestId`, given again for 24 hours.
public struct ReplyRecord: Equatable, Sendable {
    public var dataset: String
    public var client: String
    public var requestId: String
    public var at: Int64
    /// The JSON as published.
    public var body: [UInt8]

    public init(dataset: String, client: String, requestId: String, at: Int64, body: [UInt8]) {
        self.dataset = dataset
        self.client = client
        self.requestId = requestId
        self.at = at
        self.body = body
    }
}
