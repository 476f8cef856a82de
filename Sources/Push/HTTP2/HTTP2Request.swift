/// A POST, and who is given its result.
struct HTTP2Request: Sendable {
    var path: String
    /// Headers that are equal for most requests: a connection sends each once.
    var shared: [(name: String, value: String)]
    /// Headers that are sent as they are, and stay out of the connection's table (HPACK, RFC 7541).
    var own: [(name: String, value: String)]
    var body: [UInt8]
    var done: @Sendable (HTTP2Result) -> Void
}

enum HTTP2Result: Sendable {
    case answered(HTTP2Answer)
    case failed(reason: String)
    /// The server speaks something else.
    case notHTTP2
}

struct HTTP2Answer: Sendable {
    var status: Int
    /// The header `Retry-After`.
    var retryAfter: String?
    /// As much as is kept of it.
    var body: [UInt8] = []
}
