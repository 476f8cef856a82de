import LiveTopics
import Wire
import Records

// Each request gets one reply, and the same `requestId` the first one again.

extension Hub {
    /// Answers with what the store found.
    public func answer(_ query: StoreQuery, with finding: StoreAnswer, _ turn: inout Turn) {
        let context = query.reply
        if datasets[context.dataset]?.isLoading == true { return deferredAnswers.append((query, finding)) }
        switch query.use {
        case .feed(.stream(let number)):
            guard let dataset = datasets[context.dataset] else { return }
            return followers.answer(finding, to: number, { dataset.feed.encode($0, since: $1, of: dataset) }, &turn)
        case .push: return resumePush(context, finding, &turn)
        case .feed, .reply, .documents: break
        }
        let repeated = removeWaiting(for: context)
        do throws(WireError) {
            if finding.isFailure { throw unreadable(context, &turn) }
            guard let dataset = datasets[context.dataset] else { throw .unknownDataset(context.dataset) }
            let result = try dataset.result(of: query, finding, for: client(of: context), &turn)
            finish(context, context.encode(result: result), repeated: repeated, &turn)
        } catch {
            finish(context, error, repeated: repeated, &turn)
        }
    }

    func unreadable(_ context: ReplyContext, _ turn: inout Turn) -> WireError {
        let id = turn.newID()
        turn.note(.internalFailure(id: id, request: context.request))
        return WireError(.internal, "the store cannot be read at present, see the log at \(id)")
    }

    /// Who asked the same under the same `requestId` since.
    func removeWaiting(for context: ReplyContext) -> [ReplyContext] {
        context.key.flatMap { waitingForAnswer.removeValue(forKey: $0) } ?? []
    }

    /// Gives the first reply again where there was one, or waits for it.
    func repeatReply(to context: ReplyContext, _ turn: inout Turn) -> Bool {
        guard let key = context.key else { return false }
        if let first = firstReply(to: context, at: turn.now) {
            // As in the status, where a repeat has come in and has not failed.
            count(context, nil)
            var context = context
            context.isRepeated = true
            reply(first, to: context, &turn)
            return true
        }
        guard waitingForAnswer[key] != nil else { return false }
        count(context, nil)
        waitingForAnswer[key]?.append(context)
        return true
    }

    func firstReply(to context: ReplyContext, at now: Int64) -> [UInt8]? {
        guard let requestId = context.requestId, context.key != nil else { return nil }
        let memory = datasets[context.dataset]?.replies ?? repliesOfDeleted[context.dataset]
        return memory?.reply(to: requestId, of: context.client, at: now)
    }

    /// Of a request that its door has carried out in parts: see ``PartedRequest``.
    func finish(_ context: ReplyContext, _ body: [UInt8], _ error: ErrorCode?, _ turn: inout Turn) {
        if let error { count(context, error) }
        finish(context, body, isError: error != nil, &turn)
    }

    /// Remembers the first reply to a `requestId` and sends it.
    func finish(
        _ context: ReplyContext, _ body: [UInt8], isError: Bool = false, repeated: [ReplyContext] = [], _ turn: inout Turn
    ) {
        let row = RequestTable.byName[context.request]
        if !isError { count(context, nil) }
        if let requestId = context.requestId, context.key != nil, row?.isForSocket != true,
            let dataset = datasets[context.dataset]
        {
            dataset.replies.remember(
                body, to: requestId, of: context.client, at: turn.now, outlivesDataset: row?.endsDataset == true && !isError,
                isOfReading: row?.changes != true, limits: configuration.limits)
            if let row, row.changes, body.count <= ReplyMemory.durableBytesMax, storeIsWritable,
                let kept = row.showsSecret && !isError ? Self.withoutKey(body) : body
            {
                let record = ReplyRecord(
                    dataset: context.dataset, client: context.client, requestId: requestId, at: turn.now, body: kept)
                turn.effects.append(.put(record), isAsked: true)
            }
        }
        reply(body, to: context, isError: isError, &turn)
        for context in repeated { reply(body, to: context, isError: isError, &turn) }
    }

    /// Counts what became of a request, where its dataset is known.
    private func count(_ context: ReplyContext, _ error: ErrorCode?) {
        count(context.request, of: context.dataset, error)
    }

    private func count(_ request: String, of dataset: String, _ error: ErrorCode?) {
        guard let dataset = datasets[dataset] else { return }
        let name = RequestTable.byName[request] == nil ? RequestOutcome.unknown : request
        dataset.requestOutcomes[RequestOutcome(request: name, error: error), default: 0] += 1
        if error != nil { dataset.requestCounters.failed += 1 }
    }

    /// Counts a request that can neither be handled nor wait.
    func countUnhandled(_ request: String, of dataset: String) {
        datasets[dataset]?.requestCounters.received += 1
        count(request, of: dataset, .limit)
    }

    /// An error is a first reply like any other, but for `internal`: trying again is the remedy for that.
    func finish(_ context: ReplyContext, _ error: WireError, repeated: [ReplyContext] = [], _ turn: inout Turn) {
        count(context, error.code)
        guard error.code == .internal else {
            finish(context, context.encode(error), isError: true, repeated: repeated, &turn)
            return
        }
        for context in [context] + repeated { reply(context.encode(error), to: context, &turn) }
    }

    /// What of a reply with a key outlives a restart: that the key was made, so that a repeat makes no other one.
    private static func withoutKey(_ body: [UInt8]) -> [UInt8]? {
        guard var reply = (try? JSONValue.parse(body))?.asObject, var result = reply["result"]?.asObject else { return nil }
        result["key"] = nil
        reply["result"] = .object(result)
        return JSONValue.object(reply).serialised()
    }

    func reply(_ body: [UInt8], to context: ReplyContext, isError: Bool = false, _ turn: inout Turn) {
        turn.effects.held.append(.reply(context.address), payload: body)
        var context = context
        context.isRefusal = isError
        turn.effects.replies.append(context)
    }
}

extension StoreAnswer {
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
        JSONWriter.object { writer in
            writer.member("requestId", optional: requestId)
            writer.member("request", request)
            members(&writer)
        }
    }
}

extension WireError {
    static func unknownDataset(_ name: String, near: String? = nil) -> WireError {
        WireError(
            .unknownDataset, "there is no dataset `\(name)`" + (near.map { "; did you mean `\($0)`?" } ?? ""), field: "dataset")
    }
}
