import Datasets
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import Wire

/// Decides which requests become a WebSocket; one that may not is answered as a plain request, which says why.
struct SocketUpgrade: Sendable {
    let door: HTTPDoor

    /// Of one frame of a match socket, from which nothing is expected.
    private static let matchFrameBytesMax = 64 << 10

    /// Where a request becomes a WebSocket.
    enum Decision: Sendable {
        /// Nowhere: it is answered as a plain request.
        case refused
        case here(HTTPDoor)
        /// At another node, which is sent the caller in the mark.
        case node(address: String, mark: String)
    }

    /// Decides as far as the request, the core and the limits say; what may become a WebSocket counts from then on.
    func decide(_ head: HTTPRequestHead, on channel: any Channel) -> EventLoopFuture<Decision> {
        guard isHandshake(head), let request = requestHead(head, on: channel) else {
            return channel.eventLoop.makeSucceededFuture(.refused)
        }
        if request.isForwarded { door.connections.exempt(channel) }
        let decided = channel.eventLoop.makePromise(of: Decision.self)
        Task(executorPreference: LoopExecutor(channel.eventLoop)) { decided.succeed(await decide(request)) }
        return decided.futureResult.map { decision in
            if case .refused = decision { return decision }
            guard let address = door.forwardedAddress(of: request) else { return decision }
            guard door.connections.enter(address) else { return .refused }
            channel.closeFuture.whenComplete { _ in door.connections.leave(address) }
            return decision
        }
    }

    private func decide(_ request: RequestHead) async -> Decision {
        switch try? await door.destination(of: request) {
        case nil: return .refused
        case .node(let address): return .node(address: address, mark: door.forwardingMark(of: request))
        case .here(let door): return await mayUpgrade(request, at: door) ? .here(door) : .refused
        }
    }

    private func mayUpgrade(_ request: RequestHead, at door: HTTPDoor) async -> Bool {
        switch try? door.socket(request) {
        case .stream(let stream, let cursor): await door.onCore { $0.refusal(of: stream, since: cursor) == nil } ?? false
        case .matches(let target): await door.onCore { (try? $0.openable(target)) != nil } ?? false
        case .broker: true
        case nil: false
        }
    }

    /// Source: RFC 6455, section 4.2.1.
    private func isHandshake(_ head: HTTPRequestHead) -> Bool {
        let connection = head.headers[canonicalForm: "connection"].map { $0.lowercased() }
        let protocols = head.headers[canonicalForm: "upgrade"].map { $0.lowercased() }
        return connection.contains("upgrade") && protocols == ["websocket"] && head.headers["Sec-WebSocket-Version"] == ["13"]
            && head.headers["Sec-WebSocket-Key"].count == 1 && head.headers["content-length"].allSatisfy { $0 == "0" }
            && !head.headers.contains(name: "transfer-encoding")
    }

    /// What carries on where a request becomes a WebSocket at a door, and the fields of the answer.
    func handler(
        for head: HTTPRequestHead, at door: HTTPDoor, on channel: any Channel
    ) throws -> (handler: any ChannelHandler, frameBytesMax: Int, fields: HTTPHeaders) {
        let key = head.headers.first(name: "Sec-WebSocket-Key") ?? ""
        var fields: HTTPHeaders = [
            "connection": "upgrade", "upgrade": "websocket", "Sec-WebSocket-Accept": UpgradeGate.accept(key),
        ]
        switch try requestHead(head, on: channel).map({ try door.socket($0) }) {
        case .stream(let stream, let cursor):
            return (SocketHandler(stream, since: cursor, door: door), SocketHandler.messageBytesMax, fields)
        case .broker(let address):
            fields.add(name: "Sec-WebSocket-Protocol", value: "mqtt")
            return (PipeSocketHandler(address), PipeSocketHandler.frameBytesMax, fields)
        case .matches(let target):
            if target.offersKey { fields.add(name: "Sec-WebSocket-Protocol", value: "api-key") }
            return (MatchSocketHandler(target, door: door), Self.matchFrameBytesMax, fields)
        case nil: throw ChannelError.inappropriateOperationForState
        }
    }

    private func requestHead(_ head: HTTPRequestHead, on channel: any Channel) -> RequestHead? {
        guard let request = try? HTTPRequest(head, secure: false, splitCookie: false),
            let head = try? RequestHead(
                request, from: channel.remoteAddress, isEncrypted: door.configuration.tls != nil,
                forwarding: door.configuration.forwarding),
            head.method == .get
        else { return nil }
        return head
    }
}

/// What a WebSocket leads to.
enum SocketTarget {
    case stream(EventStream, since: Int64?)
    case broker(BrokerAddress)
    case matches(MatchSocketTarget)
}

extension RequestHead {
    /// Refuses a key of a handshake that is not 16 bytes in base 64. Source: RFC 6455, section 4.2.1.
    func checkSocketKey() throws(HTTPRefusal) {
        guard let key = fields[.secWebSocketKey] else { return }
        guard key.utf8.count == 24, Base64URL.decode(key)?.count == 16 else {
            throw .invalid("`Sec-WebSocket-Key` must be 16 bytes in base 64", field: "Sec-WebSocket-Key")
        }
    }
}

extension HTTPDoor {
    /// Whose limits count, where only a proxy knows.
    func forwardedAddress(of head: RequestHead) -> String? {
        // The first node of several counts it.
        configuration.isBehindProxy && !head.isForwarded ? head.forwardedAddress : nil
    }

    /// What a request for a WebSocket leads to, or why it may not.
    func socket(_ head: RequestHead) throws(HTTPRefusal) -> SocketTarget {
        if head.isMatchSocket { return .matches(try matchSocket(head)) }
        try head.checkSocketKey()
        if head.path == ["mqtt"] { return .broker(try broker(head)) }
        guard head.path.count == 3, head.path[0] == "api", head.path[2] == "socket" else {
            throw .noPath("/" + head.path.joined(separator: "/"))
        }
        let caller = try callers.caller(of: head, for: head.path[1])
        try head.allowParameters(["since"])
        let cursor = try head.cursor(named: "since", head.parameter("since"))
        let stream = EventStream(dataset: head.path[1], caller: caller, isSocket: true) { [weak self] in self?.written($0) }
        return .stream(stream, since: cursor)
    }

    /// Login and access are the broker's; one that trusts this machine is reached by who is trusted here only.
    private func broker(_ head: RequestHead) throws(HTTPRefusal) -> BrokerAddress {
        guard let broker = configuration.broker else { throw .noPath("/mqtt") }
        if !broker.asksWho {
            guard head.isFromLoopback, configuration.trustsLoopback else {
                throw .forbidden("the broker asks nobody for a password, and is for this machine only: configure `users`")
            }
            try callers.checkPage(head)
        }
        guard head.offeredProtocols.contains("mqtt") else {
            throw .invalid("`Sec-WebSocket-Protocol` must name mqtt", field: "Sec-WebSocket-Protocol")
        }
        return broker
    }
}
