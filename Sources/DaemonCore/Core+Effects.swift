import Datasets
import Logging
import Records

// What the hub wants done: to leave at once, to become durable, to leave behind that.

extension Core {
    /// Does what the hub wants, and what it wants then.
    func perform() {
        repeat { performEffects() } while ask()
        if hub.isResuming { wake() }
    }

    private func performEffects() {
        hub.endBatch(&turn)
        for reference in doors { reference.door.answerInput() }
        while !turn.effects.isEmpty {
            noteReplies(at: clock.monotonic())
            repliesNoted = 0
            swap(&turn.effects, &current)
            for reference in doors { reference.door.send(current.output) }
            logDiagnostics(current.output)
            for recipient in current.endedSubscriptions { for reference in doors { reference.door.subscriptionEnded(recipient) } }
            // Behind what has just left: the last messages about a device that is forgotten are among it.
            for forgotten in current.forgotten { for reference in doors { reference.door.forget(forgotten) } }
            poster?.post(current.posts)
            if !current.pushes.isEmpty { pushPoster?.post(current.pushes) }
            keep(current.takeUncommitted())
            for query in current.queries { enqueue(query) }
            for notice in current.notices { logger.notice(notice) }
            for topic in current.erasedInputs { for reference in doors { reference.door.eraseInput(topic) } }
            let datasetsChanged = current.datasetsChanged
            current.removeAll()
            if datasetsChanged { for reference in doors { reference.door.datasetsChanged() } }
            hub.endBatch(&turn)
        }
    }

    /// A change that is the shell's own.
    public func keep(_ change: DurableChange) {
        var own = Effects()
        own.append(change)
        keep(own.takeUncommitted())
    }

    private func keep(_ what: Uncommitted) {
        guard what.isAskedFor else {
            let (changes, rest) = what.split()
            if !changes.isEmpty { append(changes) }
            if !rest.isEmpty { hold(rest) }
            return
        }
        append(what)
    }

    func append(_ what: Uncommitted) {
        guard !what.changes.isEmpty else { return release(what) }
        guard loading == nil else { return behindLoading.append(what) }
        lastToken += 1
        uncommitted.append((lastToken, what, Meters.seconds))
        if what.isAskedFor { askedCount += 1 }
        hub.begin(token: lastToken + 1, isAwaited: askedCount > 0)
        log?.append(what.changes, token: lastToken, mayWait: !what.isAskedFor)
    }

    /// What no change of its own is behind follows the last that a request asked for.
    private func hold(_ what: Uncommitted) {
        if let last = behindLoading.lastIndex(where: \.isAskedFor) { return behindLoading[last].append(what) }
        // While nothing can be written, a refusal need not wait for what cannot become durable: it shows nothing of it.
        guard askedCount > 0, log?.isWritable == true || !what.onlyRefuses,
            let last = uncommitted.lastIndex(where: { $0.what.isAskedFor })
        else { return release(what) }
        uncommitted[last].what.append(what)
    }

    private func release(_ what: Uncommitted, token: UInt64? = nil) {
        // Before anybody is answered: a key of a dataset that is gone opens nothing for a caller that asks again at once. What this
        // says comes behind the answers.
        hub.committed(what, token: token, &turn)
        if what.createsDatasets { for reference in doors { reference.door.datasetsChanged() } }
        for reference in doors where !what.held.isEmpty { reference.door.send(what.held) }
        logReplies(what.held)
        noteRepliesGone(what.held)
    }

    func commit(through token: UInt64) {
        while let first = uncommitted.first, first.token <= token {
            uncommitted.removeFirst()
            meters.commits.note(Meters.seconds - first.at)
            if first.what.isAskedFor { askedCount -= 1 }
            hub.begin(token: lastToken + 1, isAwaited: askedCount > 0)
            release(first.what, token: first.token)
        }
    }

    private func enqueue(_ query: StoreQuery) {
        // Those of clients are bounded before they come here, those of followers ask again.
        guard query.queue != 0 || questions.count + asked.count < Self.questionsMaximum else {
            return answer(query, with: .failed)
        }
        questions.append((lastToken, query))
    }

    /// A question sees everything before it: it is asked when that is durable, or cannot become so for now.
    ///
    /// - Returns: Whether some were answered at once: a push that cannot be carried out for now.
    private func ask() -> Bool {
        var isAnswered = false
        while let first = questions.first {
            let isDurable = isDurable(first.after)
            guard isDurable || log?.isWritable != true || loading != nil else { break }
            questions.removeFirst()
            if !isDurable, first.query.isForPush {
                answer(first.query, with: .failed)
                isAnswered = true
                continue
            }
            lastQuestion += 1
            asked[lastQuestion] = first.query
            log?.read(first.query.kind, token: lastQuestion)
        }
        return isAnswered
    }

    private func isDurable(_ token: UInt64) -> Bool { uncommitted.first.map { $0.token > token } ?? true }
}

extension Logger {
    fileprivate func notice(_ notice: Notice) {
        switch notice {
        case .datasetCreated(let name): info("dataset created", metadata: ["dataset": "\(name)"])
        case .datasetDeleted(let name): info("dataset deleted", metadata: ["dataset": "\(name)"])
        case .malformedDataset(let count):
            warning("live updates refused: malformed dataset level", metadata: ["count": .stringConvertible(count)])
        case .internalFailure(let id, let request):
            error("request failed", metadata: ["id": "\(id)", "request": "\(request)"])
        case .matchesDropped(let dataset, let count):
            error("matches dropped", metadata: ["dataset": "\(dataset)", "count": .stringConvertible(count)])
        }
    }
}
