import HTTPTypes
import HummingbirdCore
import NIOCore

/// Where the answer to one request goes.
enum AnswerWriter: ~Copyable {
    case connection(RequestHandler)
    /// A stream of HTTP/2.
    case stream(ResponseWriter)

    /// Says something before the answer.
    func writeInformational(_ head: HTTPResponse) async throws {
        switch self {
        case .connection(let handler): try await handler.write(head)
        case .stream(let writer): try await writer.writeInformationalHead(head)
        }
    }

    /// Writes a whole answer.
    consuming func write(_ head: HTTPResponse, _ body: ByteBuffer = ByteBuffer()) async throws {
        switch consume self {
        case .connection(let handler): try await handler.write(head, body, isLast: true)
        case .stream(let writer): try await writer.write(response: head, body: ResponseBody(byteBuffer: body))
        }
    }

    /// Begins an answer that is written as it comes about.
    consuming func begin(_ head: HTTPResponse) async throws -> any ResponseBodyWriter {
        switch consume self {
        case .connection(let handler):
            try await handler.write(head)
            return BodyWriter(handler: handler)
        case .stream(let writer): return try await writer.writeHead(head)
        }
    }

    private struct BodyWriter: ResponseBodyWriter {
        let handler: RequestHandler

        func write(_ bytes: ByteBuffer) async throws { try await handler.write(nil, bytes) }

        consuming func finish(_ trailers: HTTPFields?) async throws { try await handler.write(isLast: true) }
    }
}
