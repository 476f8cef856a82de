import LiveTopics
import Records
import Wire

/// What a request comes to.
enum Outcome {
    /// The `result` as JSON.
    case result([UInt8])
    /// The store answers.
    case query(StoreQuery.Kind, StoreQuery.Use)
    /// Push services answer.
    case test(Device, [PushTarget])
    /// It is searched for in further turns.
    case search(Call, (Call) throws(WireError) -> any Search, (any Search)?)
}

/// A request that was read.
struct ReceivedRequest {
    var context: ReplyContext
    var request: Result<Request, Request.Refusal>
    /// As it came.
    var bytes: Int
}

extension Hub {
    /// A request came on a topic that is none: nobody can be answered.
    public func receiveMalformedRequest(_ topic: UnsafeRawBufferPointer, of name: String, _ turn: inout Turn) {
        let diagnostic = DiagnosticsWindow.Diagnostic(
            kind: .request, topic: String(decoding: topic, as: UTF8.self), error: ErrorCode.invalid.rawValue,
            message: "a request is published on geomatch/{dataset}/{client}/request/{resource}/{verb}", field: "topic", count: 1)
        guard let dataset = datasets[name] else { return unknownDatasets.report(diagnostic, of: name, &turn) }
        dataset.diagnostics.report(diagnostic, &turn)
    }

    /// Handles a request. Batches end with ``endBatch(_:)``.
    public func receive(_ envelope: Envelope, _ turn: inout Turn) {
        begin(&turn)
        live.reportMoves(&turn)
        let request = Request.parse(envelope.body, padded: envelope.isPadded, using: parser)
        let context = ReplyContext(
            address: envelope.answer, requestId: request.requestId, request: envelope.name, dataset: envelope.dataset,
            client: envelope.client, isConfined: envelope.isConfined)
        let received = ReceivedRequest(context: context, request: request, bytes: envelope.body.count)
        if mustWait(context) { return wait(received, &turn) }
        let wasSuspended = isSuspended(envelope.dataset)
        handle(received, &turn)
        if !wasSuspended { letOthersPass(envelope.dataset) }
    }

    /// Answers a request that cannot even wait; the reply is not remembered.
    public func refuse(_ envelope: Envelope, _ error: WireError, _ turn: inout Turn) {
        let request = Request.parse(envelope.body, padded: envelope.isPadded, using: parser)
        let context = ReplyContext(
            address: envelope.answer, requestId: request.requestId, request: envelope.name, dataset: envelope.dataset,
            client: envelope.client, isConfined: envelope.isConfined)
        countUnhandled(context.request, of: context.dataset)
        reply(context.encode(error), to: context, &turn)
    }

    /// Of a request that can neither wait nor be refused, its client hears with all others of the same second.
    public func leaveUnanswered(_ envelope: Envelope, _ turn: inout Turn) {
        guard let dataset = datasets[envelope.dataset] else { return }
        countUnhandled(envelope.name, of: envelope.dataset)
        dataset.diagnostics.reportOverload(
            "#", "too many requests wait, and too many replies were not taken: these requests were dropped", count: 1,
            to: envelope.client, &turn)
    }

    func handle(_ received: ReceivedRequest, _ turn: inout Turn) {
        let context = received.context
        if case .beginning? = context.address.parted, context.key != nil, firstReply(to: context, at: turn.now) == nil {
            return reply([], to: context, &turn)
        }
        if let dataset = datasets[context.dataset] {
            dataset.requestCounters.received += 1
            prepare(dataset, &turn)
        }
        if repeatReply(to: context, &turn) { return }
        if case .end(let body, let error)? = context.address.parted { return finish(context, body, error, &turn) }
        let row = RequestTable.byName[context.request]
        conclude(row, context, &turn) { turn throws(WireError) in try self.perform(row, received, &turn) }
    }

    /// Has a dataset be what it is by now.
    func prepare(_ dataset: Dataset, _ turn: inout Turn) {
        dataset.advancedTo = max(dataset.advancedTo, turn.now)
        dataset.geomatching.prepare(&turn)
        dataset.circumstances.advance(&turn)
    }

    func unwritable(_ context: ReplyContext, _ turn: inout Turn) -> WireError {
        let id = outage(context, &turn)
        return WireError(.internal, "the store cannot be written; nothing was changed, see the log at \(id)")
    }

    /// Sees to the reply of a request that is carried out by `perform`.
    func conclude(
        _ row: RequestRow?, _ context: ReplyContext, _ turn: inout Turn,
        _ perform: (inout Turn) throws(WireError) -> Outcome
    ) {
        do throws(WireError) {
            noteRequest(context, changes: row?.changes == true, at: turn.now)
            switch try turn.asking(row?.changes == true, perform) {
            case .query(let kind, let use):
                turn.effects.queries.append(StoreQuery(kind: kind, reply: context, use: use))
                if case .push = use { pushesWaiting += 1 }
                if let key = context.key { waitingForAnswer[key] = [] }
            case .search(let call, let begin, let search):
                let pending = PendingSearch(
                    context: context, call: call, begin: begin, search: search, viewVersion: call.dataset.viewVersion,
                    accessVersion: configuration.accessVersion())
                // Before those that have not begun.
                let place = search == nil ? searches.count : min(searches.count, Self.searchesUnderWay - 1)
                searches.insert(pending, at: place)
                if let key = context.key { waitingForAnswer[key] = [] }
            case .test(let device, let targets): test(targets, of: device.record, for: context, &turn)
            case .result(let result): finish(context, context.encode(result: result), &turn)
            }
        } catch {
            finish(context, error, &turn)
        }
    }

    /// What moves from now on is noted where a request is about to change something, which may be refused.
    func noteRequest(_ context: ReplyContext, changes: Bool, at now: Int64) {
        if changes, storeIsWritable { live.recentMoves.note(requestOf: context.dataset, at: now) }
    }

    private func perform(
        _ row: RequestRow?, _ received: ReceivedRequest, _ turn: inout Turn
    ) throws(WireError) -> Outcome {
        let context = received.context
        guard Name.isClient(context.client) else {
            throw WireError(
                .unauthorized,
                "a client's name has 1 to 64 of A-Z a-z 0-9 . _ - and is not `diagnostics` or `status`, unlike `\(context.client.prefix(80))`"
            )
        }
        let client = client(of: context)
        // What is about all datasets is for the administrators of any, whatever the topic names.
        let isForAny = row?.isForAdministrators == true && row?.isOfAllDatasets == true && configuration.administersAny(client)
        guard isForAny || context.address.isForDevice || configuration.mayName(context.dataset, context.client) else {
            throw WireError(.unauthorized, "`\(context.client)` may not name the dataset `\(context.dataset.prefix(80))`")
        }
        guard let row else { throw RequestTable.unknown(context.request) }
        let parameters: JSONObject
        switch received.request {
        case .success(let request): parameters = request.parameters
        case .failure(let refusal): throw refusal.error
        }
        if row.isForAdministrators, !client.isAdministrator, !isForAny {
            throw WireError(
                .unauthorized,
                "`\(row.name)` is for administrators: clients named in `admins`, which is `admin` by default (`geomatch --client admin`)"
            )
        }
        if row.changes, !storeIsWritable { throw unwritable(context, &turn) }
        func checkNames() throws(WireError) {
            if !row.takesItems || parameters["items"] == nil { try row.description?.check(parameters) }
        }
        if case .create = row.handler {
            try checkNames()
            return .result(try createDataset(Parameters(parameters), context, &turn))
        }
        if case .readAll(let handler) = row.handler {
            try checkNames()
            return .result(try handler(self, Parameters(parameters), client))
        }
        guard let dataset = datasets[context.dataset] else {
            guard row.createsDataset, mayCreateDataset(context.dataset, replayed: false) else {
                throw .unknownDataset(context.dataset, near: nearDataset(context))
            }
            try checkNames()
            return try performFirst(row, parameters, client, context, &turn)
        }
        try checkNames()
        var call = call(dataset, client, parameters, turn)
        call.isOpen = context.address.isOpen
        return try perform(row, call, &turn)
    }

    /// A dataset that was probably meant, for who administers it: its name is nobody else's business.
    private func nearDataset(_ context: ReplyContext) -> String? {
        let known = orderedDatasets.prefix(Self.nearDatasetsMaximum).lazy.map(\.id)
        let own = known.filter { self.configuration.administrators.allow(client: context.client, in: $0) }
        return Nearness.nearest(to: context.dataset, of: own)
    }

    private static let nearDatasetsMaximum = 1000

    func client(of context: ReplyContext) -> RequestingClient {
        RequestingClient(
            name: context.client,
            isAdministrator: configuration.administrators.allow(client: context.client, in: context.dataset),
            onlyDataset: context.isConfined ? context.dataset : nil)
    }

    private func call(_ dataset: Dataset, _ client: RequestingClient, _ parameters: JSONObject, _ turn: Turn) -> Call {
        Call(dataset: dataset, client: client, parameters: Parameters(parameters), now: turn.now)
    }

    /// A first `…/create` creates its dataset, but only if nothing is wrong with it.
    private func performFirst(
        _ row: RequestRow, _ parameters: JSONObject, _ client: RequestingClient, _ context: ReplyContext, _ turn: inout Turn
    ) throws(WireError) -> Outcome {
        let start = turn.effects.point
        let dataset = try createDataset(context.dataset, &turn)
        do throws(WireError) {
            let outcome = try perform(row, call(dataset, client, parameters, turn), &turn)
            // Of several elements, none may have been made.
            let isMade = parameters["items"] == nil || turn.effects.count(since: start) > 1
            if isMade { dataset.requestCounters.received += 1 } else { undo(&turn) }
            return outcome
        } catch {
            undo(&turn)
            throw error
        }

        func undo(_ turn: inout Turn) {
            turn.effects.goBack(to: start)
            undoCreation(of: dataset)
        }
    }

    private func perform(_ row: RequestRow, _ call: Call, _ turn: inout Turn) throws(WireError) -> Outcome {
        switch row.handler {
        case .read(let handler): return .result(try handler(self, call))
        case .search(let handler):
            return try begin({ call throws(WireError) in try handler(self, call) }, call, mayWait: true, &turn)
        case .changeAndSearch(let handler): return try begin(try handler(self, call, &turn), call, mayWait: false, &turn)
        case .ask(let handler): return try handler(call.dataset, call)
        case .change(let handler):
            if row.takesItems, call.parameters.value("items") != nil {
                return .result(
                    try createItems(call, row, { call, turn throws(WireError) in try handler(self, call, &turn) }, &turn))
            }
            return .result(try handler(self, call, &turn))
        case .readAll(let handler): return .result(try handler(self, call.parameters, call.client))
        case .create: throw WireError(.conflict, "the dataset `\(call.dataset.id)` exists")
        case .push: return try call.dataset.push(call, &turn)
        case .testPush: return try call.dataset.geomatching.testPush(call)
        }
    }
}
