// The journal's writing thread. `wake` and `report` are called, and the store is used, only while the gate is not locked.

extension Journal {
    /// Since when the store refuses, and when it is tried again; seconds of the gate's clock.
    struct Outage {
        let since: Double
        var retryAt: Double
    }

    func write() {
        lookForPendingPurge()
        if store.isCutOff != nil { lookAt = Gate.now() }
        while let arrived = awaitArrivals() {
            for entry in arrived { waiting.append(entry) }
            if outage == nil {
                look()
                work()
                clearUp()
            }
            if let outage { endure(outage) }
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
                if hasPendingPurge, outage == nil { return [] }
                if let lookAt, outage == nil, Gate.now() >= lookAt { return [] }
                gate.wait(for: .arrived, until: outage?.retryAt ?? lookAt)
            }
            return nil
        }
    }

    /// Closing during an outage makes one try now.
    private func hurryOnce() {
        guard !hasHurried else { return }
        hasHurried = true
        outage?.retryAt = 0
    }

    // MARK: While the store can be written

    /// So many rows are looked at before anything else is done.
    private static let purgePiece = 2000

    private func work() {
        while !waiting.isEmpty, outage == nil, !gate.locked({ shared.isAbandoned }) {
            let group = waiting.group(entriesMax: singly > 0 ? 1 : .max)
            do throws(StoreError) {
                try keep(group)
                lookForPendingPurge()
            } catch {
                refuse(group, error)
            }
        }
    }

    /// Sees that the store is cut off before a request has to find out.
    private func look() {
        guard let lookAt, Gate.now() >= lookAt else { return }
        self.lookAt = Gate.now() + 1
        guard store.isCutOff == true else { return }
        do throws(StoreError) { try store.probe() } catch { beginOutage(error) }
    }

    private func lookForPendingPurge() { hasPendingPurge = (try? store.hasPendingPurge) ?? false }

    /// Removes a piece of what nobody reads any more, while nothing waits for the disk.
    private func clearUp() {
        guard hasPendingPurge, waiting.isEmpty, outage == nil else { return }
        do throws(StoreError) {
            hasPendingPurge = try store.purgeSome(looking: Self.purgePiece)
        } catch {
            beginOutage(error)
        }
    }

    private func keep(_ group: Backlog.Group) throws(StoreError) {
        let count = waiting.changesCount
        try store.commit(group.changes.coalesced())
        waiting.removeFirst(group.entryCount)
        singly = max(0, singly - group.entryCount)
        gate.locked {
            shared.completions.append(.durable(through: group.through))
            shared.backlog -= count - waiting.changesCount
        }
        wake()
    }

    /// Nothing of the group was kept.
    private func refuse(_ group: Backlog.Group, _ error: StoreError) {
        guard case .other = error else { return beginOutage(error) }
        // One batch of it may be what cannot be written. Writing one by one finds it, and keeps those before it.
        if group.entryCount > 1 {
            singly = group.entryCount
        } else if waiting.first?.mayWait == false {
            gate.locked { _ = giveBack(error) }
            wake()
        } else {
            beginOutage(error)
        }
    }

    private func beginOutage(_ error: StoreError) {
        let now = Gate.now()
        outage = Outage(since: now, retryAt: now + retryInterval)
        singly = 0
        let isRefusing = gate.locked {
            shared.failure = error
            return error.isUnreachable ? false : giveBack(error)
        }
        report(.failing(error))
        if isRefusing { wake() }
    }

    /// Forgets the first entry that may not wait, with everything behind it. Only while the gate is locked.
    ///
    /// - Returns: Whether there was one.
    private func giveBack(_ error: StoreError) -> Bool {
        for entry in shared.arrived { waiting.append(entry) }
        shared.arrived = []
        let (from, count) = waiting.giveBack()
        guard let from else { return false }
        singly = 0
        shared.backlog -= count
        shared.refuse(from: from, error)
        return true
    }

    // MARK: While it cannot

    private func endure(_ current: Outage) {
        let leftOut = waiting.mergeWhenLong()
        if leftOut > 0 { gate.locked { shared.backlog -= leftOut } }
        if Gate.now() >= current.retryAt { retry(current) }
    }

    private func retry(_ current: Outage) {
        do throws(StoreError) {
            if waiting.isEmpty { try store.probe() } else { try keep(waiting.group(entriesMax: .max)) }
        } catch {
            outage?.retryAt = Gate.now() + retryInterval
            // One that can be reached again refuses like any other, and what may not wait is given back.
            let (isRefusing, isNew) = gate.locked { () -> (Bool, Bool) in
                let isNew = shared.failure != error && !(error.isUnreachable && shared.failure?.isUnreachable == true)
                shared.failure = error
                return (error.isUnreachable ? false : giveBack(error), isNew)
            }
            if isNew { report(.failing(error)) }
            if isRefusing { wake() }
            return
        }
        outage = nil
        gate.locked { shared.failure = nil }
        report(.recovered(waited: Gate.now() - current.since))
        work()
    }

    // MARK: The end

    private func end() {
        let unwritten = gate.locked {
            for entry in shared.arrived { waiting.append(entry) }
            shared.arrived = []
            return waiting.changesCount
        }
        report(.closed(unwritten: unwritten))
        gate.locked {
            shared.unwritten = unwritten
            gate.signal(.settled)
        }
    }
}
