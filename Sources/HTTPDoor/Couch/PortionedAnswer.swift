import HTTPTypes
import HummingbirdCore
import NIOCore

/// An answer that is written as it comes about, in the memory of one portion.
struct PortionedAnswer: Sendable {
    /// What is known already.
    var start: [UInt8]
    /// The next portion, empty where there is nothing to write yet; nil: the answer is complete.
    var next: @Sendable () async throws -> [UInt8]?
    /// Called when the connection is gone, where somebody waits for what may never come.
    var gone: (@Sendable () -> Void)?
    /// Called when the answer is over, whatever the reason.
    var ended: @Sendable () -> Void = {}

    /// The answer as a whole where that is short, else in portions.
    static func routed(_ next: @escaping @Sendable () async throws -> [UInt8]?) async throws -> HTTPResponder.Routed {
        var bytes: [UInt8] = []
        while bytes.count < wholeMax {
            guard let portion = try await next() else { return .answer(HTTPAnswer(.ok, json: bytes)) }
            bytes += portion
        }
        return .portions(PortionedAnswer(start: bytes, next: next))
    }

    private static let wholeMax = 512 << 10
}

extension HTTPResponder {
    func write(
        _ portions: PortionedAnswer, _ cross: HTTPFields, to writer: consuming AnswerWriter, of request: IncomingRequest,
        isAlone: Bool
    ) async throws {
        defer { portions.ended() }
        var head = HTTPResponse(status: .ok, headerFields: cross)
        head.headerFields[.contentType] = "application/json"
        head.headerFields[.cacheControl] = "no-store"
        // A connection whose end is watched for cannot be given back; nor one on which a body without a length was only announced.
        if isAlone, portions.gone != nil || request.method == .head { head.headerFields[.connection] = "close" }
        if request.method == .head { return try await writer.write(head) }
        var body = try await writer.begin(head)
        guard let gone = portions.gone else {
            try await write(portions, to: &body)
            return try await body.finish(nil)
        }
        try await request.watching({ try await self.write(portions, to: &body) }, gone: gone)
        try await body.finish(nil)
    }

    private func write(_ portions: PortionedAnswer, to body: inout any ResponseBodyWriter) async throws {
        if !portions.start.isEmpty { try await body.write(ByteBuffer(bytes: portions.start)) }
        while let portion = try await portions.next() {
            if !portion.isEmpty { try await body.write(ByteBuffer(bytes: portion)) }
        }
    }
}
