import HTTPTypes
import NIOCore
import NIOHTTP1
import Synchronization
import Wire

/// One request over a connection, and its answer.
struct HTTPExchange {
    let door: HTTPDoor
    let head: RequestHead
    private var request: IncomingRequest
    private let hold: BodyHold

    init(_ request: IncomingRequest, on channel: any Channel, door: HTTPDoor, bodies: BodyBudget) throws(HTTPRefusal) {
        self.door = door
        self.request = request
        hold = BodyHold(bodies)
        head = try RequestHead(
            request.head, from: channel.remoteAddress ?? channel.parent?.remoteAddress,
            isEncrypted: door.configuration.tls != nil, forwarding: door.configuration.forwarding)
    }

    private init(_ exchange: HTTPExchange, at door: HTTPDoor) {
        self.door = door
        (head, request, hold) = (exchange.head, exchange.request, exchange.hold)
    }

    /// The same with a body that has been read.
    func keeping(_ body: [UInt8]) -> HTTPExchange {
        var exchange = self
        exchange.request.body = IncomingBody(body)
        return exchange
    }

    /// The same at the door that answers it.
    func at(_ door: HTTPDoor) -> HTTPExchange { HTTPExchange(self, at: door) }

    /// Reads the whole body.
    func body(upTo limit: Int) async throws -> [UInt8] {
        if let length = statedLength, length > limit { throw HTTPRefusal.tooLarge(limit) }
        var bytes: [UInt8] = []
        do {
            for try await part in request.body {
                guard bytes.count + part.readableBytes <= limit else { throw HTTPRefusal.tooLarge(limit) }
                guard hold.take(part.readableBytes) else {
                    throw HTTPRefusal.unavailable("too many bodies are being read or carried out: try again later")
                }
                bytes.append(contentsOf: part.readableBytesView)
            }
        } catch is HTTPParserError {
            throw HTTPRefusal.brokenBody
        }
        guard isWhole(after: bytes.count) else { throw HTTPRefusal.brokenBody }
        return bytes
    }

    /// Whether a body of so many bytes is as long as was said.
    func isWhole(after count: Int) -> Bool { count >= statedLength ?? 0 }

    private var statedLength: Int? { request.headers[.contentLength].flatMap { Int($0) } }

    /// The type of the body without its parameters, in lower case.
    var contentType: String? {
        request.headers[.contentType].map { type in
            type.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
        }
    }

    /// The parts of the body, as they come.
    var parts: IncomingBody { request.body }
}

/// What the body of a request takes of the budget, until that is answered.
private final class BodyHold: Sendable {
    private let budget: BodyBudget
    private let taken = Atomic(0)

    init(_ budget: BodyBudget) { self.budget = budget }

    deinit { budget.giveBack(taken.load(ordering: .relaxed)) }

    func take(_ count: Int) -> Bool {
        guard budget.take(count) else { return false }
        taken.add(count, ordering: .relaxed)
        return true
    }
}

/// Bounds the bodies of requests that are being read or carried out, over all connections.
final class BodyBudget: Sendable {
    private let left: Atomic<Int>

    init(_ bytes: Int) { left = Atomic(bytes) }

    func take(_ count: Int) -> Bool {
        guard left.subtract(count, ordering: .relaxed).newValue < 0 else { return true }
        left.add(count, ordering: .relaxed)
        return false
    }

    func giveBack(_ count: Int) { left.add(count, ordering: .relaxed) }
}
