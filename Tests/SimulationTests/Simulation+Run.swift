import SeededRandom

// What happens, and in which order: all of it drawn from the seed.

extension Simulation {
    func run(steps: Int) {
        for device in Self.devices { ask(.createDevice(device)) }
        ask(.subscribeLive())
        for _ in 0..<4 { ask(somethingNew()) }
        for _ in 0..<steps {
            act()
            progress()
        }
        heal()
    }

    private func act() {
        switch random.below(100) {
        case ..<40: move()
        case ..<56: ask(somethingNew())
        case ..<66: if let request = somethingChanged() { ask(request) }
        case ..<80: wait(Int64(random.below(700)))
        case ..<83: wait(Int64(random.below(15_000)))
        case ..<86: loseConnection()
        case ..<88: killBroker()
        case ..<90: crash()
        case ..<92: standBy()
        case ..<95:
            disk.writesUntilCrash = random.below(6)
            disk.crashFollowsTheWrite = random.chance(50)
        case ..<97: disk.isFull = true
        default: disk.isFull = false
        }
    }

    /// The network, the disk and the broker's autosave get on, each as far as chance has it.
    private func progress() {
        if random.chance(60) { reconnect() }
        if random.chance(30) { broker.save() }
        link.carryOut(random.below(8))
        carryIn(random.below(8))
        if random.chance(60) { disk.work(random.below(4)) }
        endpoint.carryOut(random.below(4), &random)
        turn()
    }

    private func move() {
        let device = random.pick(Self.devices)
        let place = random.below(Self.places.count)
        // Old news counts only where the twin knows what it is older than.
        let isLate = random.chance(10) && twin.positions[device] != nil
        tellPosition(device, place, timestamp: isLate ? now - 30_000 : now)
        if random.chance(10) { tellPosition(device, place, timestamp: isLate ? now - 30_000 : now) }
    }

    private func somethingNew() -> ClientRequest {
        random.chance(50)
            ? .createPublication("p\(nextObject())", &random) : .createSubscription("s\(nextObject())", &random)
    }

    private func somethingChanged() -> ClientRequest? {
        // Only what the daemon is known to have: the rest is on its way.
        let publications = twin.publications.keys.sorted()
        let subscriptions = twin.subscriptions.keys.sorted()
        if random.chance(50) {
            guard !publications.isEmpty else { return nil }
            let id = random.pick(publications)
            return random.chance(70) ? .updatePublication(id, &random) : .deletePublication(id)
        }
        guard !subscriptions.isEmpty else { return nil }
        let id = random.pick(subscriptions)
        return random.chance(70) ? .updateSubscription(id, &random) : .deleteSubscription(id)
    }

    // MARK: The end

    /// Everything works again, and every device says where it is.
    func heal() {
        disk.isFull = false
        disk.writesUntilCrash = nil
        endpoint.isHealed = true
        // A probe that came too late is tried again only over the next connection.
        loseConnection()
        reconnect()
        settle()
        // What was to end soon has ended, so that nothing changes while it is looked at.
        for _ in 0..<7 { wait(10_000) }
        settle()
        // Webhooks are tried again after pauses that have doubled.
        for _ in 0..<100 {
            wait(10_000)
            endpoint.carryOut(1000, &random)
        }
        settle()
        for device in Self.devices { tellPosition(device, random.below(Self.places.count), timestamp: now) }
        settle()
        // Stays become visits.
        wait(Int64(NaiveTwin.dwell) * 1000)
        settle()
        for id in twin.subscriptions.keys.sorted() { ask(.read("subscription/get", #""id":"\#(id)""#)) }
        settle()
    }

    private func settle() {
        for round in 0..<400 {
            link.carryOut(1000)
            carryIn(1000)
            disk.work(1000)
            endpoint.carryOut(1000, &random)
            wait(100)
            if round > 40, link.isIdle, disk.isIdle, endpoint.isIdle, open.isEmpty { return }
        }
    }
}
