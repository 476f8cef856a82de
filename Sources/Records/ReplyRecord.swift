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

extension ReplyRecord: DurableRecord {
    public static var kind: Kind { .reply }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(client)
        fields.write(requestId)
        fields.write(at)
        fields.write(body)
    }

    public init(from fields: inout some FieldReader) {
        self.init(
            dataset: fields.text(), client: fields.text(), requestId: fields.text(), at: fields.int64(), body: fields.bytes())
    }
}

extension DurableChange {
    package static func forgetReplies(before instant: Int64) -> Self { .expire(.reply, before: instant) }
}
