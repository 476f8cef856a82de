import AsyncHTTPClient
import Glibc
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOPosix

// A request about a dataset of another node goes there as it is, and the answer comes back as it is, both while they come.

extension HTTPResponder {
    /// What another node answers.
    struct Forwarded: Sendable {
        var answer: HTTPClientResponse
        /// Of the caller.
        var channel: any Channel
        /// Its end is that of the connection: the caller is watched, too.
        var isEndless: Bool { answer.headers[canonicalForm: "connection"].contains("close") && answer.status == .ok }
    }

    /// So long a request looks for an owner that a move has made another, or that cannot be reached.
    private static let patience = Duration.seconds(2)
    private static let pause = Duration.milliseconds(50)

    /// Answers a request whose body is short, or that has none: here or at the node that has the dataset.
    ///
    /// It is tried again where the other node has not had it.
    func answerAnywhere(
        _ exchange: HTTPExchange, beginningAt destination: HTTPDoor.Destination, on channel: any Channel
    ) async throws -> (HTTPResponder, Routed) {
        var address: String
        switch destination {
        case .here(let door): return try await answer(exchange, at: door)
        case .node(let first): address = first
        }
        let body = try await exchange.body(upTo: door.configuration.limits.bodyBytes)
        let kept = exchange.keeping(body)
        let deadline = ContinuousClock.now + Self.patience
        while true {
            var request = request(exchange.head, to: address)
            if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
            let result = await execute(request)
            if case .success(let answer) = result, !answer.headers.contains(name: Forwarding.movedField) {
                return (self, .forwarded(Forwarded(answer: answer, channel: channel)))
            }
            guard result.wasNotTaken, ContinuousClock.now < deadline else { throw Self.unreachable.shaped(for: exchange.head) }
            door.configuration.forwarding?.lookAgain()
            try await Task.sleep(for: Self.pause)
            switch try await self.destination(of: exchange) {
            case .here(let door): return try await answer(kept, at: door)
            case .node(let next): address = next
            }
        }
    }

    private func execute(_ request: HTTPClientRequest) async -> Result<HTTPClientResponse, any Error> {
        do {
            guard let forwarding = door.configuration.forwarding else { throw CancellationError() }
            var request = request
            request.tlsConfiguration = forwarding.tls
            return .success(try await forwarding.client.execute(request, deadline: .distantFuture))
        } catch {
            return .failure(error)
        }
    }

    private static let unreachable = HTTPRefusal.unavailable(
        "the node that has the dataset cannot be reached, or ended before it answered: repeat the request")

    /// Forwards a request with a body of any length, which is read as the other node takes it.
    func forwardBody(
        of exchange: HTTPExchange, to address: String, _ writer: consuming AnswerWriter, isAlone: Bool
    ) async throws {
        var request = request(exchange.head, to: address)
        let length = exchange.head.fields[.contentLength].flatMap { Int64($0) }
        let pipe = BodyPipe()
        request.body = .stream(pipe, length: length.map { .known($0) } ?? .unknown)
        let (forwarded, parts) = (request, exchange.parts)
        var held: AnswerWriter? = consume writer
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await pipe.send(contentsOf: parts) }
            let result = await execute(forwarded)
            // What is left of the body is nobody's: the connection is closed with the answer.
            let isLast = isAlone && !pipe.isComplete
            pipe.close()
            guard let writer = held.take() else { return }
            switch result {
            case .success(let answer): try await write(answer, to: writer, isLast: isLast)
            case .failure(let error):
                let refusal = error is HTTPParserError ? HTTPRefusal.brokenBody : Self.unreachable
                var answer = refusal.answer(for: exchange.head)
                if isLast { answer.fields[.connection] = "close" }
                try await writer.write(answer.head, ByteBuffer(bytes: answer.body))
            }
            group.cancelAll()
        }
    }

    private func request(_ head: RequestHead, to address: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address + head.target)
        request.method = NIOHTTP1.HTTPMethod(rawValue: head.method.rawValue)
        for field in head.fields where !Self.isOfConnection(field.name) && field.name != .contentLength {
            request.headers.add(name: field.name.rawName, value: field.value)
        }
        // The name that the caller used decides who is trusted.
        if let host = head.host { request.headers.replaceOrAdd(name: "host", value: host) }
        request.headers.replaceOrAdd(name: Forwarding.field, value: door.forwardingMark(of: head))
        return request
    }

    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    ]

    /// What is said of a connection and not of a message. Source: RFC 9110, section 7.6.1.
    private static func isOfConnection(_ name: HTTPField.Name) -> Bool { connectionFields.contains(name.canonicalName) }

    // MARK: Answers

    func write(
        _ forwarded: Forwarded, to writer: consuming AnswerWriter, of request: IncomingRequest, isAlone: Bool
    ) async throws {
        guard request.method != .head else { return try await writer.write(Self.head(of: forwarded.answer)) }
        guard forwarded.isEndless else { return try await write(forwarded.answer, to: writer, isLast: false) }
        var head = Self.head(of: forwarded.answer)
        if isAlone { head.headerFields[.connection] = "close" }
        door.configuration.forwarding?.noteEndless(forwarded.channel)
        var body = try await writer.begin(head)
        let (parts, pipe) = (forwarded.answer.body, BodyPipe())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await pipe.send(contentsOf: parts) }
            try await request.watching({ for try await part in pipe { try await body.write(part) } }, gone: { pipe.close() })
            group.cancelAll()
        }
        try await body.finish(nil)
    }

    private func write(_ answer: HTTPClientResponse, to writer: consuming AnswerWriter, isLast: Bool) async throws {
        var head = Self.head(of: answer)
        if isLast { head.headerFields[.connection] = "close" }
        var body = try await writer.begin(head)
        for try await part in answer.body { try await body.write(part) }
        try await body.finish(nil)
    }

    private static func head(of answer: HTTPClientResponse) -> HTTPResponse {
        var head = HTTPResponse(status: HTTPResponse.Status(code: Int(answer.status.code)))
        for (name, value) in answer.headers {
            guard let name = HTTPField.Name(name), !isOfConnection(name) else { continue }
            head.headerFields.append(HTTPField(name: name, value: value))
        }
        return head
    }
}

extension Result<HTTPClientResponse, any Error> {
    /// The other node has not carried out a request: it was not reached, or has not got the dataset.
    fileprivate var wasNotTaken: Bool {
        switch self {
        case .success(let answer): answer.headers.contains(name: Forwarding.movedField)
        case .failure(let error):
            error is NIOConnectionError || error as? HTTPClientError == .connectTimeout
                || (error as? IOError)?.errnoCode == ECONNREFUSED
        }
    }
}

extension HTTPRefusal {
    /// As the clients of a path read it.
    func answer(for head: RequestHead) -> HTTPAnswer {
        answer(below: head.isMatchSocket ? "pusher" : head.path.first)
    }

    /// As the clients of all paths below a first level read it.
    func answer(below level: String?) -> HTTPAnswer {
        switch level {
        case "couch": CouchRefusal(self).answer
        case "v5", "pusher": matchmoreAnswer
        default: answer
        }
    }

    func shaped(for head: RequestHead) -> HTTPResponder.Refused { HTTPResponder.Refused(answer: answer(for: head)) }
}
