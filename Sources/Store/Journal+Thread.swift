// The journal's own thread. `wake` and `report` are called, and the store is used, only while the gate is not locked.

extension Journal {
    /// Since when the store refuses, and when it is tried again; seconds of the gate's clock.
    struct Outage {
        let since: Double
        var retryAt: Double
    }

    func run() {
        lookForDebris()
        while let arrived = awaitArrivals() {
            if outage == nil {
                for entry in arrived { waiting.append(entry) }
                work()
                clearUp()
            } else {
                endure(arrived)
            }
        }
        end()
    }

    /// Sleeps until something arrived, until the store is to be tried again, or not at all where there is something to clear up (then
    /// nothing need have arrived).
    ///
    /// - Returns: nil when the thread is to end.
    private func awaitArrivals() -> [Backlog.Entry]? {
        gate.locked {
            while !shared.isAbandoned {
                if !shared.arrived.isEmpty {
                    let arrived = shared.arrived
                    shared.arrived = []
                    return arrived
                }
                if shared.isClosing {
                    if waiting.isEmpty { return nil }
                    hurryOnce()
                }
                if let outage, Gate.now() >= outage.retryAt { return [] }
                if hasDebris, outage == nil { return [] }
                gate.wait(for: .arrived, until: outage?.retryAt)
            }
            return nil
        }
    }

    /// Whoever closes during an outage is owed one try now.
    private func hurryOnce() {
        guard !hasHurried else { return }
        hasHurried = true
        outage?.retryAt = 0
    }

    // MARK: While the store can be written

    private func work() {
        while let first = waiting.first, outage == nil, !gate.locked({ shared.isAbandoned }) {
            if case .read(let token, let query) = first {
                waiting.removeFirst()
                answer(token, query)
                continue
            }
            let group = waiting.group()
            do throws(StoreError) {
                try store.commit(group.changes.coalesced())
                waiting.removeFirst(group.entryCount)
                settle(group)
                lookForDebris()
            } catch {
                refuse(group, error)
            }
        }
    }

    private func lookForDebris() { hasDebris = (try? store.hasDebris) ?? false }

    /// Removes a piece of what nobody reads any more, while nothing waits for the disk.
    private func clearUp() {
        guard hasDebris, waiting.isEmpty, outage == nil else { return }
        do throws(StoreError) {
            hasDebris = try store.removeDebris()
        } catch {
            beginOutage(error)
        }
    }

    private func settle(_ group: Backlog.Group) {
        gate.locked {
            shared.completions += group.tokens.map { .durable($0) }
            shared.backlog -= group.patientCount
            group.demand?.result = .success(())
            gate.signal(.settled)
        }
        if !group.tokens.isEmpty { wake() }
    }

    /// Nothing of the group was kept. Its demand is told and gone; the rest waits.
    private func refuse(_ group: Backlog.Group, _ error: StoreError) {
        guard group.demand != nil, case .other = error else { return beginOutage(error) }
        // The demand's own changes may be what cannot be written: the rest is tried without it, and only where that fails too is
        // it an outage.
        if let demand = waiting.remove(at: group.entryCount - 1) { refuse(demand, error) }
    }

    private func beginOutage(_ error: StoreError) {
        let now = Gate.now()
        outage = Outage(since: now, retryAt: now + retryInterval)
        gate.locked { shared.failure = error }
        for entry in waiting.takeImpatient() { refuse(entry, error) }
        report(.failing(error))
    }

    // MARK: While it cannot

    private func endure(_ arrived: [Backlog.Entry]) {
        let error = gate.locked { shared.failure } ?? .busy
        for entry in arrived {
            if case .changes = entry { waiting.append(entry) } else { refuse(entry, error) }
        }
        let leftOut = waiting.mergeWhenLong()
        if leftOut > 0 { gate.locked { shared.backlog -= leftOut } }
        if let outage, Gate.now() >= outage.retryAt { retry(outage) }
    }

    private func retry(_ current: Outage) {
        do throws(StoreError) {
            if waiting.isEmpty {
                try store.probe()
            } else {
                let group = waiting.group()
                try store.commit(group.changes.coalesced())
                waiting.removeFirst(group.entryCount)
                settle(group)
            }
        } catch {
            outage?.retryAt = Gate.now() + retryInterval
            gate.locked { shared.failure = error }
            return
        }
        outage = nil
        gate.locked { shared.failure = nil }
        report(.recovered(waited: Gate.now() - current.since))
        work()
    }

    /// A read runs, now, on what is durable; a demand is told.
    private func refuse(_ entry: Backlog.Entry, _ error: StoreError) {
        switch entry {
        case .changes: break
        case .read(let token, let query): answer(token, query)
        case .demand(_, let demand):
            gate.locked {
                demand.result = .failure(error)
                gate.signal(.settled)
            }
        }
    }

    private func answer(_ token: UInt64, _ query: (Store) throws -> StoreAnswer) {
        let answer = (try? query(store)) ?? .failed
        gate.locked { shared.completions.append(.answer(token, answer)) }
        wake()
    }

    // MARK: The end

    private func end() {
        for entry in gate.locked({ shared.arrived }) { waiting.append(entry) }
        for entry in waiting.takeImpatient() { refuse(entry, .other("the journal is closed")) }
        let unwritten = waiting.changesCount
        report(.closed(unwritten: unwritten))
        gate.locked {
            shared.arrived = []
            shared.unwritten = unwritten
            gate.signal(.settled)
        }
    }
}
