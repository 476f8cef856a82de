import HTTPTypes
import HummingbirdCore
import NIOCore

/// What comes over a connection; a request of the table has its payload read elsewhere.
struct IncomingRequest: Sendable {
    let head: HTTPRequest
    var body: IncomingBody
    private let connection: Connection

    private enum Connection: Sendable {
        case own(RequestHandler)
        /// A stream of HTTP/2.
        case stream(HummingbirdCore.Request)
    }

    init(_ head: HTTPRequest, over handler: RequestHandler) {
        (self.head, connection) = (head, .own(handler))
        body = IncomingBody(source: .connection(handler))
    }

    init(_ request: HummingbirdCore.Request) {
        (head, connection) = (request.head, .stream(request))
        body = IncomingBody(source: .stream(request.body))
    }

    var method: HTTPRequest.Method { head.method }
    var headers: HTTPFields { head.headerFields }

    /// Does something while the caller still listens: where it is gone, `gone` is called. Nothing is left of the body after this.
    func watching<Result: Sendable>(
        _ operation: () async throws -> Result, gone: @escaping @Sendable () -> Void
    ) async throws -> Result {
        switch connection {
        case .own(let handler): return try await handler.watching(operation, gone: gone)
        case .stream(var request):
            // The server's watch ends the program where it comes upon a body that breaks off, or was read before.
            request.body = RequestBody(buffer: ByteBuffer())
            return try await request.body.consumeWithInboundCloseHandler({ _ in try await operation() }, onInboundClosed: gone)
        }
    }
}

/// The bytes of a request's body, as they come.
struct IncomingBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    fileprivate enum Source: Sendable {
        case connection(RequestHandler)
        case stream(RequestBody)
        case whole(ByteBuffer)
    }

    fileprivate let source: Source

    fileprivate init(source: Source) { self.source = source }

    /// One that has been read.
    init(_ bytes: [UInt8]) { source = .whole(ByteBuffer(bytes: bytes)) }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate enum State {
            case connection(RequestHandler)
            case stream(RequestBody.AsyncIterator)
            case whole(ByteBuffer?)
        }

        fileprivate var state: State

        mutating func next() async throws -> ByteBuffer? {
            switch state {
            case .connection(let handler): return try await handler.nextBytes()
            case .stream(var iterator):
                let bytes = try await iterator.next()
                state = .stream(iterator)
                return bytes
            case .whole(let bytes):
                state = .whole(nil)
                return bytes
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        switch source {
        case .connection(let handler): AsyncIterator(state: .connection(handler))
        case .stream(let body): AsyncIterator(state: .stream(body.makeAsyncIterator()))
        case .whole(let bytes): AsyncIterator(state: .whole(bytes))
        }
    }
}
