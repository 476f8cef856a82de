import Datasets
import Logging

// After a refusal the datasets it concerns are read again, on the store's thread. They wait meanwhile, and so does what is to be made
// durable, in order.

/// A reading that is under way, or is tried again.
struct Loading {
    let request: LoadRequest
    var token: UInt64 = 0
    /// How often it failed.
    var failures = 0
    /// When it is tried again; nil while it is under way.
    var dueAt: Int64?

    /// 1 s, doubled with each failure, a minute at most.
    mutating func fail(at now: Int64) -> Int64 {
        let pause = min(Int64(1000) << Int64(min(failures, 10)), 60_000)
        failures += 1
        dueAt = now + pause
        return pause
    }
}

extension Core {
    /// The store took nothing of what was asked: memory becomes what is durable, and what waits to be.
    func refuse(from token: UInt64, _ reason: String) {
        var lost = Uncommitted()
        while let last = uncommitted.last, last.token >= token {
            uncommitted.removeLast()
            if last.what.isAskedFor { askedCount -= 1 }
            var what = last.what
            what.append(lost)
            lost = what
        }
        log?.resume(afterRefusal: token)
        noteRepliesGone(lost.held)
        hub.storeIsWritable = false
        let waiting = uncommitted.flatMap(\.what.changes)
        loading = Loading(request: hub.refused(lost, from: token, waiting: waiting, reason: reason, &turn))
        // Nothing is asked for any longer: what moves from now on is repeated by nobody.
        hub.begin(token: lastToken + 1, isAwaited: askedCount > 0)
        load()
    }

    private func load() {
        guard let request = loading?.request else { return }
        lastQuestion += 1
        loading?.token = lastQuestion
        loading?.dueAt = nil
        log?.load(request, token: lastQuestion)
    }

    /// Tries again what could not be read.
    func loadIfDue() {
        // A clock that was put back by more than the longest pause says nothing.
        if let dueAt = loading?.dueAt, turn.now >= dueAt || turn.now < dueAt - 60_000 { load() }
    }

    /// What was asked for was read, or could not be.
    func loaded(_ token: UInt64, _ state: Result<LoadedState, LoadFailure>) {
        guard loading?.token == token else { return }
        do {
            endLoading(try hub.loaded(try state.get(), &turn))
        } catch {
            let pause = loading?.fail(at: turn.now) ?? 0
            logger.error(
                "store cannot be read, tried again later",
                metadata: ["error": "\(error)", "pause.milliseconds": .stringConvertible(pause)])
        }
    }

    private func endLoading(_ again: Uncommitted) {
        loading = nil
        hub.begin(token: lastToken + 1, isAwaited: askedCount > 0)
        append(again)
        let behind = behindLoading
        behindLoading = []
        for what in behind { append(what) }
    }

    /// The process ends: what waits behind a reading goes to the log without it.
    func abandonLoading() {
        guard loading != nil else { return }
        endedWhileLoading = true
        endLoading(hub.abandonLoading())
    }
}
