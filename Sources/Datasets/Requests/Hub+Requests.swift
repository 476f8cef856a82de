import LiveTopics
import Wire
import Records

extension Hub {
    /// What a request comes to.
    enum Outcome {
        /// The `result` as JSON.
        case result([UInt8])
        /// The store answers.
        case query(StoreQuery.Kind, limit: Int, FeedUse = .get)
        /// The request is carried out again with what the store knows of these documents.
        case lookUp([DocumentLookup], Call)
    }

    /// Handles `geomatch/{dataset}/{client}/request/{resource}/{verb}`, with any number of levels behind `request`.
    func receiveRequest(_ topic: UnsafeRawBufferPointer, _ message: Inbound, at now: Int64, into effects: inout HubEffects) {
        // A request that the broker replays is an old one.
        guard !message.retained else { return }
        let levels = String(decoding: topic, as: UTF8.self).split(separator: "/", omittingEmptySubsequences: false).map(
            String.init)
        guard levels.count >= 4, levels[3] == "request" else { return }
        let request = Request.parse(message.payload, padded: message.padded, using: parser)
        let context = ReplyContext(
            topic: replyTopic(dataset: levels[1], client: levels[2], responseTopic: message.responseTopic),
            correlation: message.correlation.map(Array.init), requestId: request.requestId,
            request: levels[4...].joined(separator: "/"), dataset: levels[1], client: levels[2])
        if let dataset = datasets[context.dataset] {
            dataset.counters.requests += 1
            dataset.instant = now
            if let deadline = dataset.engine.nextDeadline, deadline <= now {
                advanceEngine(of: dataset, to: now, into: &effects)
            }
            advanceCircumstances(of: dataset, to: now, into: &effects)
        }
        if repeatReply(to: context, at: now, into: &effects) { return }
        let name = RequestName(rawValue: context.request)
        let firstChange = effects.changes.count
        conclude(name, context, from: firstChange, at: now, into: &effects) { effects throws(WireError) in
            try perform(name, request, context, at: now, into: &effects)
        }
    }

    /// Sees to the reply of a request that is carried out by `perform`.
    private func conclude(
        _ name: RequestName?, _ context: ReplyContext, from firstChange: Int, at now: Int64, into effects: inout HubEffects,
        _ perform: (inout HubEffects) throws(WireError) -> Outcome
    ) {
        do throws(WireError) {
            let outcome = try perform(&effects)
            switch outcome {
            case .query(let kind, let limit, let use):
                effects.queries.append(StoreQuery(kind: kind, reply: context, limit: limit, feedUse: use))
                if let key = context.key { waitingForAnswer[key] = [] }
            case .lookUp(let lookups, let call):
                awaitedDocuments = AwaitedDocuments(lookups: lookups, call: call, context: context)
            case .result(let result):
                noteChanges(from: firstChange, asked: name?.changes == true, into: &effects)
                finish(context, context.encode(result: result), name, at: now, into: &effects)
            }
        } catch {
            datasets[context.dataset]?.counters.failedRequests += 1
            noteChanges(from: firstChange, asked: name?.changes == true, into: &effects)
            finish(context, error, name, at: now, into: &effects)
        }
    }

    /// What the store must be asked before anything else is handled; nil where nothing is.
    ///
    /// To be answered by ``resume(with:at:into:)``, when the effects so far have been performed.
    public var documentLookups: [DocumentLookup]? { awaitedDocuments?.lookups }

    /// Goes on with the request that waits for documents.
    ///
    /// - Parameter documents: In the order asked; nil where the store could not be read.
    public func resume(with documents: [KnownDocument?]?, at now: Int64, into effects: inout HubEffects) {
        guard let awaited = awaitedDocuments else { return }
        awaitedDocuments = nil
        conclude(.changesPush, awaited.context, from: effects.changes.count, at: now, into: &effects) {
            effects throws(WireError) in
            guard let documents else {
                let id = outage(awaited.context, into: &effects)
                throw WireError(.internal, "the store cannot be read at present; nothing was changed, see the log at \(id)")
            }
            var call = awaited.call
            call.documents = documents
            return try pushChanges(call, into: &effects)
        }
    }

    private func perform(
        _ name: RequestName?, _ request: Result<Request, Request.Refusal>, _ context: ReplyContext, at now: Int64,
        into effects: inout HubEffects
    ) throws(WireError) -> Outcome {
        guard Name.isClient(context.client) else {
            throw WireError(
                .unauthorized,
                "a client's name has 1 to 64 of A-Z a-z 0-9 . _ - and is not `diagnostics` or `status`, unlike `\(context.client.prefix(80))`"
            )
        }
        guard let name else {
            throw WireError(.notFound, "there is no request `\(context.request.prefix(80))`", field: "request")
        }
        let parameters: JSONObject
        switch request {
        case .success(let request): parameters = request.parameters
        case .failure(let refusal): throw refusal.error
        }
        let client = RequestingClient(
            name: context.client,
            isAdministrator: configuration.administrators.allow(client: context.client, in: context.dataset))
        if name.isForAdministrators, !client.isAdministrator {
            throw WireError(.unauthorized, "`\(name.rawValue)` is for administrators")
        }
        if name.changes, !storeIsWritable {
            let id = outage(context, into: &effects)
            throw WireError(.internal, "the store cannot be written; nothing was changed, see the log at \(id)")
        }
        if name == .datasetCreate { return try createDataset(parameters, context, at: now, into: &effects) }
        guard let dataset = datasets[context.dataset] else {
            guard name.createsDataset, mayCreateDataset(context.dataset, replayed: false) else {
                throw .unknownDataset(context.dataset)
            }
            return try performFirst(name, parameters, client, context, at: now, into: &effects)
        }
        return try perform(name, parameters, by: client, in: dataset, at: now, into: &effects)
    }

    /// A first `…/create` creates its dataset, but only if nothing is wrong with it.
    private func performFirst(
        _ name: RequestName, _ parameters: JSONObject, _ client: RequestingClient, _ context: ReplyContext, at now: Int64,
        into effects: inout HubEffects
    ) throws(WireError) -> Outcome {
        let before = (changes: effects.changes.count, notices: effects.notices.count, filters: effects.filtersChanged)
        let deletedAt = deletedDatasets[context.dataset]
        let dataset = try createDataset(context.dataset, at: now, into: &effects)
        do throws(WireError) {
            let outcome = try perform(name, parameters, by: client, in: dataset, at: now, into: &effects)
            // Of several elements, none may have been made.
            let isMade = parameters["items"] == nil || effects.changes.count > before.changes + 1
            if isMade { dataset.counters.requests += 1 } else { undo() }
            return outcome
        } catch {
            undo()
            throw error
        }

        func undo() {
            effects.changes.removeSubrange(before.changes...)
            effects.notices.removeSubrange(before.notices...)
            effects.filtersChanged = before.filters
            undoCreation(of: dataset, deletedAt: deletedAt)
        }
    }

    private func perform(
        _ name: RequestName, _ parameters: JSONObject, by client: RequestingClient, in dataset: Dataset, at now: Int64,
        into effects: inout HubEffects
    ) throws(WireError) -> Outcome {
        let call = Call(dataset: dataset, client: client, parameters: Parameters(parameters), now: now)
        if let items = try createItems(name, call, into: &effects) { return .result(items) }
        switch name {
        case .datasetCreate: throw WireError(.conflict, "the dataset `\(dataset.id)` exists")
        case .datasetGet: return .result(describe(dataset))
        case .datasetUpdate: return .result(try updateDataset(call, into: &effects))
        case .datasetList: return .result(try listDatasets(call))
        case .datasetDelete: return .result(try deleteDataset(call, into: &effects))
        case .datasetImport: return .result(try importStructure(call, into: &effects))
        case .deviceCreate: return .result(try createDevice(call, into: &effects))
        case .deviceGet: return .result(try getDevice(call))
        case .deviceList: return .result(try listDevices(call))
        case .deviceUpdate: return .result(try updateDevice(call, into: &effects))
        case .deviceDelete: return .result(try deleteDevice(call, into: &effects))
        case .deviceForget: return .result(try forgetDevice(call, into: &effects))
        case .publicationCreate: return .result(try createPublication(call, into: &effects))
        case .publicationGet: return .result(try getPublication(call))
        case .publicationList: return .result(try listPublications(call))
        case .publicationUpdate: return .result(try updatePublication(call, into: &effects))
        case .publicationDelete: return .result(try deletePublication(call, into: &effects))
        case .subscriptionCreate: return .result(try createSubscription(call, into: &effects))
        case .subscriptionGet: return .result(try getSubscription(call))
        case .subscriptionList: return .result(try listSubscriptions(call))
        case .subscriptionUpdate: return .result(try updateSubscription(call, into: &effects))
        case .subscriptionDelete: return .result(try deleteSubscription(call, into: &effects))
        case .matchGet: return try getMatch(call)
        case .matchList: return try listMatches(call)
        case .liveSubscribe: return .result(try subscribeLive(call, into: &effects))
        case .liveRenew: return .result(try renewLive(call, into: &effects))
        case .liveUnsubscribe: return .result(try unsubscribeLive(call, into: &effects))
        case .liveList: return .result(try listLive(call))
        case .liveSnapshot: return .result(try snapshotLive(call))
        case .matchExplain: return .result(try explainMatch(call))
        case .beaconList: return .result(try listBeacons(call))
        case .beaconMonitor: return .result(try monitorBeacons(call, into: &effects))
        case .beaconUnmonitor: return .result(try unmonitorBeacons(call, into: &effects))
        case .categoryImport: return .result(try importCategories(call, into: &effects))
        case .categoryList: return .result(try listCategories(call))
        case .placeImport: return .result(try importPlaces(call, into: &effects))
        case .placeGet: return .result(try getPlace(call))
        case .placeList: return .result(try listPlaces(call))
        case .placeDelete: return .result(try deletePlace(call, into: &effects))
        case .placeCandidates: return .result(try placeCandidates(call))
        case .circumstanceRegister: return .result(try registerCircumstance(call, into: &effects))
        case .circumstanceEnable: return .result(try enableCircumstance(call, into: &effects))
        case .circumstanceDisable: return .result(try disableCircumstance(call, into: &effects))
        case .circumstanceUnregister: return .result(try unregisterCircumstance(call, into: &effects))
        case .circumstanceList: return .result(try listCircumstances(call))
        case .circumstanceEvaluate: return .result(try evaluateCircumstance(call))
        case .circumstanceEvaluateAll: return .result(try evaluateAllCircumstances(call))
        case .placeVerify: return .result(try verifyPlace(call, into: &effects))
        case .changesGet: return try getChanges(call)
        case .changesFollow: return try followChanges(call)
        case .changesUnfollow: return try unfollowChanges(call)
        case .changesConflicts: return try listConflicts(call)
        case .changesPush: return try pushChanges(call, into: &effects)
        }
    }

    /// Marks the changes a request asked for.
    private func noteChanges(from first: Int, asked: Bool, into effects: inout HubEffects) {
        guard asked, effects.changes.count > first else { return }
        effects.requested.append(first..<effects.changes.count)
    }
}

extension Result where Success == Request, Failure == Request.Refusal {
    /// Echoed also where the payload is no request otherwise.
    fileprivate var requestId: String? {
        switch self {
        case .success(let request): request.id
        case .failure(let refusal): refusal.id
        }
    }
}
