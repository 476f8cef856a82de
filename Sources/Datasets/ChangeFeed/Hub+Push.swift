import Records
import Wire

// A push asks the store what is known of its documents; what must not pass it waits meanwhile, see `Hub.mustWait`.

extension Hub {
    /// Goes on with the push that waits for documents, and then with what waited for it.
    func resumePush(_ context: ReplyContext, _ finding: StoreAnswer, _ turn: inout Turn) {
        guard let dataset = datasets[context.dataset], case .push(var awaited)? = dataset.suspension else {
            // The creation of its dataset was refused meanwhile.
            return finish(context, unwritable(context, &turn), repeated: removeWaiting(for: context), &turn)
        }
        if case .documents = finding, awaited.isOutdated {
            awaited.isOutdated = false
            dataset.suspension = .push(awaited)
            turn.effects.queries.append(StoreQuery(kind: .documents(awaited.lookups), reply: context, use: .push))
            return
        }
        pushesWaiting -= 1
        dataset.suspension = nil
        _ = removeWaiting(for: context)
        conclude(RequestTable.byName[context.request], context, &turn) { turn throws(WireError) in
            // What waits behind a refusal is older than now.
            guard self.storeIsWritable else { throw self.unwritable(context, &turn) }
            self.prepare(dataset, &turn)
            guard case .documents(let documents) = finding else { throw self.unreadable(context, &turn) }
            var call = awaited.call
            call.now = turn.now
            call.documents = documents
            return try dataset.push(call, &turn)
        }
        resume(dataset.id, &turn)
    }

    /// Pushes that wait for what the store knows hear of what was kept since.
    func noteOutdatedPushes(_ changes: ArraySlice<DurableChange>) {
        guard pushesWaiting > 0 else { return }
        for change in changes { change.dataset.flatMap { datasets[$0] }?.noteOutdatedPush(change) }
    }
}
