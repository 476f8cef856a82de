import HTTPTypes
import HummingbirdCore
import LiveTopics
import NIOCore

// GET /api/{dataset}/events: what a client hears of, as server-sent events.

extension HTTPResponder {
    func events(_ exchange: HTTPExchange) async throws -> Routed {
        let head = exchange.head
        guard head.method == .get else { throw HTTPRefusal.method(head.method, allow: "GET") }
        let caller = try exchange.door.callers.caller(of: head, for: head.path[1])
        // A browser's own stream says the last in a header; libraries in its place, where there is none, say it in the URL.
        try head.allowParameters(["topics", "since", "lastEventId"])
        let stream = try EventStream(dataset: head.path[1], caller: caller, filters: head.topicFilters())
        let last = [head.fields[.lastEventID], head.parameter("lastEventId"), head.parameter("since")]
            .compactMap(\.self).first { !$0.isEmpty }
        let cursor = try head.cursor(named: "Last-Event-ID", last)
        if let error = await exchange.door.onCore({ $0.open(stream, since: cursor) }) ?? nil { throw error }
        return .events(stream)
    }

    /// Writes what waits for a stream, as it comes, until one side ends it.
    func write(
        _ stream: EventStream, _ cross: HTTPFields, to writer: consuming AnswerWriter, of request: IncomingRequest,
        isAlone: Bool
    ) async throws {
        defer { door.submit { $0.close(stream) } }
        let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        stream.onWaiting { signal.yield() }
        var head = HTTPResponse(status: .ok, headerFields: cross)
        head.headerFields[.contentType] = "text/event-stream"
        head.headerFields[.cacheControl] = "no-store"
        if isAlone { head.headerFields[.connection] = "close" }
        var body = try await writer.begin(head)
        // Proxies and browsers see that it is open.
        try await body.write(ByteBuffer(string: ":\n\n"))
        try await request.watching {
            for await _ in signals {
                while true {
                    let (items, end) = stream.take(bytes: Self.portionBytes)
                    if !items.isEmpty { try await self.write(items, to: &body) }
                    if end != nil { return }
                    if items.isEmpty { break }
                }
            }
        } gone: {
            stream.end(.gone)
        }
        try await body.finish(nil)
    }

    private static let portionBytes = 64 << 10

    private func write(_ items: [EventStream.Item], to body: inout any ResponseBodyWriter) async throws {
        var buffer = ByteBuffer()
        for item in items {
            switch item {
            case .message(let message): buffer.writeEvent(message)
            case .signOfLife: buffer.writeString(":\n\n")
            // Of live subscriptions of sockets.
            case .frames: break
            case .reply(let reply): door.written(reply)
            }
        }
        try await body.write(buffer)
    }
}

extension RequestHead {
    /// Each message is compared with all filters of a stream.
    private static let filtersMax = 32

    /// MQTT filters, comma-separated.
    func topicFilters() throws(HTTPRefusal) -> [TopicFilter] {
        guard let text = parameter("topics"), !text.isEmpty else { return [] }
        guard text.utf8.count(where: { $0 == UInt8(ascii: ",") }) < Self.filtersMax else {
            throw .invalid("`topics` has more than \(Self.filtersMax) filters", field: "topics")
        }
        var filters: [TopicFilter] = []
        for filter in text.split(separator: ",").map(String.init) {
            do throws(TopicFilterError) {
                filters.append(try TopicFilter(filter))
            } catch {
                throw .invalid("`topics`: `\(filter.prefix(80))` was read, a filter \(error.message)", field: "topics")
            }
        }
        return filters
    }

    /// Where somebody resumes.
    func cursor(named name: String, _ text: String?) throws(HTTPRefusal) -> Int64? {
        guard let text, !text.isEmpty else { return nil }
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let cursor = Int64(text) else {
            throw .invalid("`\(text.beginning(40))` of `\(name)` is no cursor that was given here", field: "since")
        }
        return cursor
    }
}

extension ByteBuffer {
    /// Source: HTML Living Standard, section "Parsing an event stream".
    mutating func writeEvent(_ message: StreamMessage) {
        writeString("event: \(message.path)\n")
        if let cursor = message.cursor { writeString("id: \(cursor)\n") }
        for line in message.payload.split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            writeString("data: ")
            writeBytes(line)
            writeString("\n")
        }
        writeString("\n")
    }
}
