import LiveTopics
import Wire
import Records

// Each request gets one reply, and the same `requestId` the first one again.

extension Hub {
    /// Answers with what the store found.
    public func answer(_ query: StoreQuery, with finding: StoreFinding, at now: Int64, into effects: inout HubEffects) {
        if case .stream(let number) = query.feedUse { return stream(finding, to: number, into: &effects) }
        let context = query.reply
        let repeated = context.key.flatMap { waitingForAnswer.removeValue(forKey: $0) } ?? []
        do throws(WireError) {
            if finding.isFailure {
                let id = identifiers.uuid()
                effects.notices.append(.internalFailure(id: id, request: context.request))
                throw WireError(.internal, "the store cannot be read at present, see the log at \(id)")
            }
            let result = try result(of: query, finding, at: now, into: &effects)
            finish(context, context.encode(result: result), nil, repeated: repeated, at: now, into: &effects)
        } catch {
            datasets[context.dataset]?.counters.failedRequests += 1
            finish(context, error, nil, repeated: repeated, at: now, into: &effects)
        }
    }

    /// Gives the first reply again where there was one, or waits for it.
    func repeatReply(to context: ReplyContext, at now: Int64, into effects: inout HubEffects) -> Bool {
        guard let requestId = context.requestId, let key = context.key else { return false }
        let memory = datasets[context.dataset]?.replies ?? repliesOfDeleted[context.dataset]
        if let first = memory?.reply(to: requestId, of: context.client, at: now) {
            var context = context
            context.isRepeated = true
            reply(first, to: context, into: &effects)
            return true
        }
        guard waitingForAnswer[key] != nil else { return false }
        waitingForAnswer[key]?.append(context)
        return true
    }

    /// Remembers the first reply to a `requestId` and sends it: behind the changes of the batch where there are some.
    func finish(
        _ context: ReplyContext, _ body: [UInt8], _ name: RequestName?, isError: Bool = false, repeated: [ReplyContext] = [],
        at now: Int64, into effects: inout HubEffects
    ) {
        if let requestId = context.requestId, context.key != nil, let dataset = datasets[context.dataset] {
            dataset.replies.remember(
                body, to: requestId, of: context.client, at: now, outlivesDataset: name == .datasetDelete && !isError,
                limits: configuration.limits)
            if name?.changes == true, body.count <= Self.durableReplyMaximumBytes, storeIsWritable {
                let first = effects.changes.count
                effects.changes.append(
                    .putReply(
                        ReplyRecord(
                            dataset: context.dataset, client: context.client, requestId: requestId, at: now, body: body)))
                effects.requested.append(first..<first + 1)
            }
        }
        reply(body, to: context, into: &effects)
        for context in repeated { reply(body, to: context, into: &effects) }
    }

    /// An error is a first reply like any other, but for `internal`: trying again is the remedy for that.
    func finish(
        _ context: ReplyContext, _ error: WireError, _ name: RequestName?, repeated: [ReplyContext] = [], at now: Int64,
        into effects: inout HubEffects
    ) {
        guard error.code == .internal else {
            finish(context, context.encode(error), name, isError: true, repeated: repeated, at: now, into: &effects)
            return
        }
        for context in [context] + repeated { reply(context.encode(error), to: context, into: &effects) }
    }

    /// A larger reply is not remembered across a restart.
    private static let durableReplyMaximumBytes = 64 << 10

    private func reply(_ body: [UInt8], to context: ReplyContext, into effects: inout HubEffects) {
        if effects.hasRequests {
            effects.gated.append(
                topic: context.topic, prefix: configuration.topicsPrefix, qos: 1, retain: false,
                correlation: context.correlation, payload: body)
            effects.replies.append(context)
        } else {
            effects.messages.append(
                topic: context.topic, prefix: configuration.topicsPrefix, qos: 1, retain: false,
                correlation: context.correlation, payload: body)
        }
    }

    /// The response topic where it lies in the client's own tree, else `…/reply`: the daemon is no way around the broker's permissions.
    func replyTopic(dataset: String, client: String, responseTopic: UnsafeRawBufferPointer?) -> String {
        let own = "geomatch/\(dataset)/\(client)/"
        // `geomatch/d/diagnostics/` and its like are the tree of no client.
        guard let responseTopic, responseTopic.count <= 1024, Name.isClient(client), Name.isDataset(dataset) else {
            return own + "reply"
        }
        let asked = String(decoding: responseTopic, as: UTF8.self)
        let prefix = configuration.topicsPrefix + own
        guard asked.utf8.elementsEqual(responseTopic), asked.utf8.starts(with: prefix.utf8),
            !asked.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") || $0 == 0 })
        else { return own + "reply" }
        let below = String(decoding: asked.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        guard !below.isEmpty, below.split(separator: "/", omittingEmptySubsequences: false).first != "request" else {
            return own + "reply"
        }
        return own + below
    }
}

extension StoreFinding {
    fileprivate var isFailure: Bool {
        if case .failed = self { true } else { false }
    }
}

extension ReplyContext {
    /// What its first reply is remembered by; nil without a `requestId`, and for who is no client.
    var key: RequestKey? {
        guard let requestId, Name.isClient(client) else { return nil }
        return RequestKey(dataset: dataset, client: client, requestId: ByteKey(requestId))
    }

    func encode(result: [UInt8]) -> [UInt8] {
        encode { writer in
            writer.key("result")
            writer.raw(result)
        }
    }

    func encode(_ error: WireError) -> [UInt8] {
        encode { writer in
            writer.key("error")
            error.encode(into: &writer)
        }
    }

    private func encode(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("requestId", optional: requestId)
        writer.member("request", request)
        members(&writer)
        writer.endObject()
        return writer.bytes
    }
}
