import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import Wire

/// Decides which requests become a WebSocket; one that may not is answered as a plain request, which says why.
struct SocketUpgrade: Sendable {
    let door: HTTPDoor

    /// Of one frame that comes in.
    static let frameBytesMax = RequestPayload.payloadBytesMax + 1024

    /// Whether a request may become a WebSocket, as far as it, the core and the limits say; it counts from then on.
    func mayUpgrade(_ head: HTTPRequestHead, on channel: any Channel) -> EventLoopFuture<Bool> {
        let decided = channel.eventLoop.makePromise(of: Bool.self)
        switch isHandshake(head) ? target(of: head, on: channel) : nil {
        case .stream(let stream, _):
            let isTaken = door.submit { door in decided.succeed(door.refusal(of: stream) == nil) }
            if !isTaken { decided.succeed(false) }
        case .matches(let target):
            let isTaken = door.submit { door in decided.succeed((try? door.openable(target)) != nil) }
            if !isTaken { decided.succeed(false) }
        case .broker: decided.succeed(true)
        case nil: decided.succeed(false)
        }
        return decided.futureResult.map { mayUpgrade in
            guard mayUpgrade, let address = forwardedAddress(of: head) else { return mayUpgrade }
            guard door.connections.enter(address) else { return false }
            channel.closeFuture.whenComplete { _ in door.connections.leave(address) }
            return true
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

    private func forwardedAddress(of head: HTTPRequestHead) -> String? {
        guard let request = try? HTTPRequest(head, secure: false, splitCookie: false) else { return nil }
        return (try? RequestHead(request, from: nil, isEncrypted: false)).flatMap(door.forwardedAddress)
    }

    /// What carries on where a request becomes a WebSocket, and the fields of the answer.
    func handler(for head: HTTPRequestHead, on channel: any Channel) throws -> (handler: any ChannelHandler, fields: HTTPHeaders)
    {
        let key = head.headers.first(name: "Sec-WebSocket-Key") ?? ""
        var fields: HTTPHeaders = [
            "connection": "upgrade", "upgrade": "websocket", "Sec-WebSocket-Accept": UpgradeGate.accept(key),
        ]
        switch target(of: head, on: channel) {
        case .stream(let stream, let cursor): return (SocketHandler(stream, since: cursor, door: door), fields)
        case .broker(let address):
            fields.add(name: "Sec-WebSocket-Protocol", value: "mqtt")
            return (PipeSocketHandler(address), fields)
        case .matches(let target):
            if target.offersKey { fields.add(name: "Sec-WebSocket-Protocol", value: "api-key") }
            return (MatchSocketHandler(target, door: door), fields)
        case nil: throw ChannelError.inappropriateOperationForState
        }
    }

    private func target(of head: HTTPRequestHead, on channel: any Channel) -> SocketTarget? {
        guard let request = try? HTTPRequest(head, secure: false, splitCookie: false),
            let head = try? RequestHead(request, from: channel.remoteAddress, isEncrypted: door.configuration.tls != nil),
            head.method == .get
        else { return nil }
        return try? door.socket(head)
    }
}

/// What a WebSocket leads to.
enum SocketTarget {
    case stream(EventStream, since: Int64?)
    case broker(BrokerAddress)
    case matches(MatchSocketTarget)
}

extension HTTPDoor {
    /// Whose limits count, where only a proxy knows.
    func forwardedAddress(of head: RequestHead) -> String? {
        configuration.isBehindProxy ? head.forwardedAddress : nil
    }

    /// What a request for a WebSocket leads to, or why it may not.
    func socket(_ head: RequestHead) throws(HTTPRefusal) -> SocketTarget {
        if head.path == ["mqtt"] { return .broker(try broker(head)) }
        if head.isMatchSocket { return .matches(try matchSocket(head)) }
        guard head.path.count == 3, head.path[0] == "api", head.path[2] == "socket" else {
            throw .noPath("/" + head.path.joined(separator: "/"))
        }
        let caller = try callers.caller(of: head, for: head.path[1])
        let cursor = try head.cursor(named: "since", head.parameter("since"))
        let stream = EventStream(dataset: head.path[1], caller: caller) { [weak self] in self?.written($0) }
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
        let protocols = (head["Sec-WebSocket-Protocol"] ?? "").split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        guard protocols.contains("mqtt") else {
            throw .invalid("`Sec-WebSocket-Protocol` must name mqtt", field: "Sec-WebSocket-Protocol")
        }
        return broker
    }
}
