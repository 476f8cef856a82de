import HTTPTypes
import Logging
import NIOCore
import NIOHTTPTypes
import Wire

/// Answers the requests of all connections.
struct HTTPResponder: Sendable {
    let door: HTTPDoor
    private let bodies: BodyBudget

    init(_ door: HTTPDoor) {
        self.init(door, bodies: BodyBudget(door.configuration.limits.bodiesBytes))
    }

    private init(_ door: HTTPDoor, bodies: BodyBudget) {
        (self.door, self.bodies) = (door, bodies)
    }

    /// - Parameter isAlone: One request after the other has the connection, which is closed where a body was not read.
    func respond(
        to request: IncomingRequest, _ writer: consuming AnswerWriter, on channel: any Channel, isAlone: Bool
    ) async throws {
        var responder = self
        let routed: Routed
        // A path that cannot be read still has a first level, which says whose clients ask.
        let level = request.head.path.map { path in
            let (slash, query) = (UInt8(ascii: "/"), UInt8(ascii: "?"))
            return String(Substring(path.utf8.drop { $0 == slash }.prefix { $0 != slash && $0 != query }))
        }
        var cross: HTTPFields = level == "v5" ? [.accessControlAllowOrigin: "*"] : [:]
        var address: String?
        defer { if let address { door.connections.leave(address) } }
        do {
            // Over HTTP/1.1 such heads are not read to their end.
            guard isAlone || !door.configuration.limits.refuses(request.head) else { throw HTTPRefusal.headTooLarge }
            let exchange = try HTTPExchange(request, on: channel, door: door, bodies: bodies)
            cross = crossOrigin(exchange.head)
            if exchange.head.isForwarded { door.connections.exempt(channel) }
            if let forwarded = door.forwardedAddress(of: exchange.head) {
                guard door.connections.enter(forwarded) else { throw HTTPRefusal.tooManyConnections }
                address = forwarded
            }
            if request.headers[.expect]?.lowercased() == "100-continue", request.method != .get {
                try checkLength(of: request)
                try await writer.writeInformational(HTTPResponse(status: .continue))
            }
            let destination = try await destination(of: exchange)
            if case .node(let address) = destination, hasEndlessBody(request) {
                routed = .forwarding(exchange, address: address)
            } else {
                let answered = try await answerAnywhere(exchange, beginningAt: destination, on: channel)
                responder = answered.0
                routed = answered.1
            }
        } catch let refusal as HTTPRefusal {
            routed = .answer(refusal.answer(below: level))
        } catch let refusal as WireError {
            routed = .answer(HTTPRefusal(refusal).answer(below: level))
        } catch let refused as Refused {
            routed = .answer(refused.answer)
        }
        try await responder.write(routed, cross, to: writer, of: request, isAlone: isAlone)
    }

    private func write(
        _ routed: Routed, _ cross: HTTPFields, to writer: consuming AnswerWriter, of request: IncomingRequest, isAlone: Bool
    ) async throws {
        switch routed {
        case .answer(let answer): try await write(answer, cross, to: writer, of: request, isAlone: isAlone)
        case .reply(let reply):
            defer { door.written(reply) }
            let status = HTTPResponse.Status(code: ReplyStatus.read(reply.bytes))
            try await write(HTTPAnswer(status, json: reply.bytes), cross, to: writer, of: request, isAlone: isAlone)
        case .events(let stream): try await write(stream, cross, to: writer, of: request, isAlone: isAlone)
        case .portions(let portions): try await write(portions, cross, to: writer, of: request, isAlone: isAlone)
        case .forwarding(let exchange, let address):
            try await forwardBody(of: exchange, to: address, writer, isAlone: isAlone)
        case .forwarded(let forwarded): try await write(forwarded, to: writer, of: request, isAlone: isAlone)
        }
    }

    /// Which door or node answers; a refusal has the shape that the clients of the path read.
    func destination(of exchange: HTTPExchange) async throws(Refused) -> HTTPDoor.Destination {
        do throws(HTTPRefusal) {
            return try await door.destination(of: exchange.head)
        } catch {
            throw error.shaped(for: exchange.head)
        }
    }

    /// Answers at a door of this node.
    func answer(_ exchange: HTTPExchange, at door: HTTPDoor) async throws -> (HTTPResponder, Routed) {
        let responder = HTTPResponder(door, bodies: bodies)
        return (responder, try await responder.route(exchange.at(door)))
    }

    /// A refusal that has its shape already.
    struct Refused: Error {
        var answer: HTTPAnswer
    }

    /// What comes of a request.
    enum Routed {
        case answer(HTTPAnswer)
        case reply(HTTPDoor.Reply)
        case events(EventStream)
        case portions(PortionedAnswer)
        case forwarded(Forwarded)
        /// Its body is still to be read.
        case forwarding(HTTPExchange, address: String)
    }

    /// Before a body is asked for with `100 Continue`.
    private func checkLength(of request: IncomingRequest) throws(HTTPRefusal) {
        guard let length = request.headers[.contentLength].flatMap({ Int($0) }), !isFile(request) else { return }
        let limit = door.configuration.limits.bodyBytes
        if length > limit { throw .tooLarge(limit) }
    }

    /// What was not read of a body is read and thrown away before the next request; not so where it may go on for ever.
    func hasEndlessBody(_ request: IncomingRequest) -> Bool {
        guard let length = request.headers[.contentLength].flatMap({ Int($0) }) else {
            return request.headers[.transferEncoding] != nil
        }
        return length > door.configuration.limits.bodyBytes
    }

    private func isFile(_ request: IncomingRequest) -> Bool {
        request.head.path.map { $0.contains("/import") || $0.contains("/_bulk_docs") } == true
    }

    private func write(
        _ answer: HTTPAnswer, _ cross: HTTPFields, to writer: consuming AnswerWriter, of request: IncomingRequest, isAlone: Bool
    ) async throws {
        var head = answer.head
        for field in cross { head.headerFields[field.name] = field.value }
        if answer.status == .unauthorized, head.headerFields[.wwwAuthenticate] == nil {
            // Without `Basic`, for which a browser would ask for a password that changes nothing.
            head.headerFields[.wwwAuthenticate] = "Bearer realm=\"geomatch\""
        }
        if isAlone {
            if answer.status.code >= 400, hasEndlessBody(request) { head.headerFields[.connection] = "close" }
        } else {
            // One of these fields closes a connection of HTTP/2 with all its streams (RFC 9113, section 8.2.2).
            for name in [HTTPField.Name.connection, .upgrade] { head.headerFields[name] = nil }
        }
        try await writer.write(head, request.method == .head ? ByteBuffer() : ByteBuffer(bytes: answer.body))
    }

    // MARK: Paths

    private func route(_ exchange: HTTPExchange) async throws -> Routed {
        let head = exchange.head
        if head.method == .post || head.method == .put, let coding = head["Content-Encoding"], coding.lowercased() != "identity" {
            throw HTTPRefusal.coding(coding)
        }
        if head.method == .options, let answer = try options(head) { return .answer(answer) }
        switch head.path.first {
        case "healthz" where head.path.count == 1: return .answer(try probe(head) { health() })
        case "readyz" where head.path.count == 1: return .answer(try probe(head) { readiness() })
        case "metrics" where head.path.count == 1: return try await metrics(exchange)
        case "openapi.json" where head.path.count == 1:
            return .answer(try probe(head) { HTTPAnswer(.ok, json: OpenAPI.document(version: door.configuration.version)) })
        case "api" where head.path.count == 4: return try await request(exchange)
        case "api" where head.path.count == 3 && head.path[2] == "live": return try await updates(exchange)
        case "api" where head.path.count == 3 && head.path[2] == "events": return try await events(exchange)
        case "api" where head.path.count == 3 && head.path[2] == "socket": throw try await socketRefusal(head)
        case "mqtt" where head.path.count == 1: throw try await socketRefusal(head)
        case "api" where head.path.count == 9 && head.path[2] == "live": return try await update(exchange)
        case "" where head.path.count == 1: return .answer(try probe(head) { page(head, "index.html") })
        case "page" where head.path.count == 2: return .answer(try probe(head) { page(head, head.path[1]) })
        case "page" where head.path.count == 5 && head.path[1] == "tiles":
            return .answer(try probe(head) { tile(head.path[2...]) })
        case "couch": return await couch(exchange)
        case "in" where head.path.count == 2: return try await phone(exchange)
        case "v5": return try await matchmore(exchange)
        case _ where head.isMatchSocket: return .answer(await matchSocketRefusal(exchange))
        default: throw HTTPRefusal.noPath("/" + head.path.joined(separator: "/"))
        }
    }

    /// Why a request for a socket became none.
    private func socketRefusal(_ head: RequestHead) async throws -> HTTPRefusal {
        guard head.method == .get else { throw HTTPRefusal.method(head.method, allow: "GET") }
        if case .stream(let stream, let cursor) = try door.socket(head) {
            guard let refusal = await door.onCore({ $0.refusal(of: stream, since: cursor) }) else {
                throw HTTPRefusal.unavailable("the daemon ends: try again later")
            }
            if let refusal { throw refusal }
        }
        return .upgradeRequired
    }

    private func probe(_ head: RequestHead, _ answer: () -> HTTPAnswer) throws(HTTPRefusal) -> HTTPAnswer {
        guard head.method == .get || head.method == .head else { throw .method(head.method, allow: "GET, HEAD") }
        return answer()
    }

    /// So long the core's loop may stand still, in milliseconds.
    private static let standstillMilliseconds: Int64 = 5000

    private var isTurning: Bool {
        ([door] + door.servedDoors).allSatisfy { $0.standstill < Self.standstillMilliseconds }
    }

    private func health() -> HTTPAnswer {
        guard isTurning else { return HTTPRefusal.unavailable("the daemon's loop stands still").answer }
        return HTTPAnswer(.ok, json: Array(#"{"status":"ok"}"#.utf8))
    }

    private func readiness() -> HTTPAnswer {
        guard isTurning else { return HTTPRefusal.unavailable("the daemon's loop stands still").answer }
        guard door.core.health.isOnline else {
            return HTTPRefusal.unavailable("not online: \(door.core.health.lastReason)").answer
        }
        return HTTPAnswer(.ok, json: Array(#"{"status":"online"}"#.utf8))
    }
}

extension HTTPLimits {
    /// Whether a head is larger than may be.
    fileprivate func refuses(_ head: HTTPRequest) -> Bool {
        let bytes = head.headerFields.reduce(head.path?.utf8.count ?? 0) {
            $0 + $1.name.rawName.utf8.count + $1.value.utf8.count
        }
        return bytes > headBytes || head.headerFields.count > headFields
    }
}
