import Cluster

/// A node as it stands between store and broker: it beats, does what its member says, carries out requests, and can be killed, stopped
/// and cut off at any moment.
final class ModelNode {
    /// A shard that it serves.
    private struct Part {
        var epoch: Int64
        /// The matches of the requests that were carried out, by request.
        var matches: [Int: String] = [:]
        var isLoaded = false
        var hasSession = false
        /// What is being committed.
        var underWay: Set<Int> = []
        var isLeaving = false
    }

    /// A shard that it will have, as it was restored.
    private struct Standby {
        var epoch: Int64
        /// nil: it is being restored.
        var rows: [ModelStore.Row]?
    }

    enum Answer<Value> {
        case value(Value)
        case refused(JoinRefusal)
        /// Nobody knows what became of it.
        case none
    }

    let name: String
    private unowned let world: ClusterSimulation
    private var member: Member
    private var entry: NodeEntry
    private var parts: [Int: Part] = [:]
    private var standbys: [Int: Standby] = [:]
    /// What a former life began means nothing to the next.
    private var life = 0
    private(set) var isAlive = false
    private var stoppedUntil: Int64 = 0
    /// What came while it was stopped.
    private var missed: [() -> Void] = []
    var reachesStore = true
    var reachesBroker = true
    private var knowsBroker = true
    /// Since when it has been as it should be.
    private(set) var healthySince: Int64 = .max

    init(_ name: String, _ world: ClusterSimulation) {
        self.name = name
        self.world = world
        member = Member(node: name)
        entry = NodeEntry(name: name, life: "")
    }

    var isStopped: Bool { stoppedUntil > world.time.now }
    var reads: Bool { isAlive && !isStopped && reachesBroker }

    /// Whether it can answer requests of this shard now.
    func serves(_ shard: Int) -> Bool {
        guard reads, reachesStore, let part = parts[shard] else { return false }
        return part.isLoaded && part.hasSession && !part.isLeaving && member.isFresh(at: world.time.now)
            && world.store.leases.holds(shard, epoch: part.epoch)
    }

    func noteHealth() {
        let isHealthy = reads && reachesStore && knowsBroker && !member.isLeaving && member.isFresh(at: world.time.now)
        healthySince = isHealthy ? min(healthySince, world.time.now) : .max
    }

    // MARK: What happens to it

    func start() {
        guard !isAlive else { return }
        life += 1
        (isAlive, stoppedUntil, missed, parts, standbys, knowsBroker) = (true, 0, [], [:], [:], reachesBroker)
        member = Member(node: name)
        entry = NodeEntry(name: name, life: "\(name) \(life)")
        join()
    }

    func kill() {
        for shard in parts.keys { world.broker.disconnect(self, shard: shard) }
        (isAlive, parts) = (false, [:])
    }

    func stop(for milliseconds: Int64) {
        guard isAlive, !isStopped else { return }
        stoppedUntil = world.time.now + milliseconds
        world.time.after(milliseconds) { [self] in
            let due = missed
            missed = []
            for action in due { action() }
        }
    }

    func leave() { member.leave() }

    // MARK: What it does

    /// Within its process: not while that is stopped, and not in another life.
    private func after(_ milliseconds: Int64, _ action: @escaping () -> Void) {
        let life = life
        world.time.after(milliseconds) { [self] in
            guard isAlive, self.life == life else { return }
            guard !isStopped else { return missed.append { [self] in if isAlive, self.life == life { action() } } }
            action()
        }
    }

    /// A call that the store may take late, or never; its answer may be lost, too.
    private func ask<Value>(_ call: @escaping () throws -> Value, then: @escaping (Answer<Value>) -> Void) {
        var isAnswered = false
        let answer: (Answer<Value>) -> Void = { answer in
            guard !isAnswered else { return }
            isAnswered = true
            then(answer)
        }
        after(1000) { answer(.none) }
        world.time.after(world.latency()) { [self] in
            guard reachesStore else { return }
            let result: Answer<Value>
            do { result = .value(try call()) } catch { result = (error as? JoinRefusal).map { .refused($0) } ?? .none }
            world.time.after(world.latency()) { [self] in
                if reachesStore { after(0) { answer(result) } }
            }
        }
    }

    private func join() {
        let entry = entry
        ask({ try self.world.store.leases.join(entry) }) { [self] answer in
            if case .value = answer { beat() } else { after(500) { self.join() } }
        }
    }

    private func beat() {
        notice()
        entry.isLeaving = member.isLeaving
        entry.reachesBroker = knowsBroker
        let (entry, renewing, sentAt) = (entry, member.renewing, world.time.now)
        ask({ try self.world.store.leases.renew(entry, leases: renewing) }) { [self] answer in
            switch answer {
            case .value(let view):
                for step in member.renewed(view, sentAt: sentAt) { perform(step) }
                for shard in parts.keys.sorted() { connect(shard) }
                if member.isLeaving, member.renewing.isEmpty { return end() }
            case .refused: return end()
            case .none: break
            }
            after(member.pause) { self.beat() }
        }
    }

    /// It left, or its name is another's; who started it starts it again.
    private func end() {
        kill()
        world.time.after(1000) { self.start() }
    }

    /// A broker that does not answer is missed after a second.
    private func notice() {
        guard reachesBroker != knowsBroker else { return }
        after(reachesBroker ? 100 : 1000) { [self] in
            knowsBroker = reachesBroker
            guard !knowsBroker else { return }
            for shard in parts.keys {
                parts[shard]?.hasSession = false
                world.broker.disconnect(self, shard: shard)
            }
        }
    }

    private func perform(_ step: Member.Step) {
        let (store, name) = (world.store.leases, name)
        switch step {
        case .take(let shard, let epoch): ask({ store.take([shard: epoch], for: name) }) { _ in }
        case .announce(let shard, let successor): ask({ store.announce([shard: successor], by: name) }) { _ in }
        case .prepare(let shard): ask({ store.prepare([shard], for: name) }) { _ in }
        case .standBy(let shard, let epoch): standBy(shard, epoch)
        case .serve(let shard, let epoch):
            parts[shard] = Part(epoch: epoch)
            load(shard, epoch)
        case .drop(let shard): drop(shard)
        case .handOver(let shard, let successor):
            parts[shard]?.isLeaving = true
            world.broker.disconnect(self, shard: shard)
            handOver(shard, to: successor)
        }
    }

    private func drop(_ shard: Int) {
        parts[shard] = nil
        world.broker.disconnect(self, shard: shard)
    }

    /// A large one takes long.
    private func standBy(_ shard: Int, _ epoch: Int64) {
        if let known = standbys[shard], known.epoch == epoch {
            // It was somebody else's to have meanwhile.
            if known.rows != nil { member.stoodBy(shard: shard, epoch: epoch) }
            return
        }
        standbys[shard] = Standby(epoch: epoch)
        ask({ self.world.store.rows[shard] }) { [self] answer in
            guard standbys[shard]?.epoch == epoch else { return }
            guard case .value(let rows) = answer else { return standbys[shard] = nil }
            after(world.latency() * 10) { [self] in
                guard standbys[shard]?.epoch == epoch else { return }
                standbys[shard]?.rows = rows
                member.stoodBy(shard: shard, epoch: epoch)
            }
        }
    }

    /// Reads all, or of what was restored before what was written since.
    private func load(_ shard: Int, _ epoch: Int64) {
        let standby = standbys[shard]
        let known = standby?.epoch == epoch ? standby?.rows ?? [] : []
        ask({ Array(self.world.store.rows[shard].dropFirst(known.count)) }) { [self] answer in
            guard parts[shard]?.epoch == epoch else { return }
            guard case .value(let since) = answer else { return load(shard, epoch) }
            standbys[shard] = nil
            let rows = known + since
            parts[shard]?.isLoaded = true
            for row in rows { parts[shard]?.matches[row.request] = row.match }
            connect(shard)
            // What was owed may not have been sent.
            for row in rows.suffix(20) { publish(row.request, row.match, shard, epoch) }
        }
    }

    private func connect(_ shard: Int) {
        guard knowsBroker, reachesBroker, let part = parts[shard] else { return }
        guard part.isLoaded, !part.hasSession, !part.isLeaving else { return }
        parts[shard]?.hasSession = true
        world.broker.connect(self, shard: shard)
    }

    func sessionWasCut(_ shard: Int) { after(5) { self.parts[shard]?.hasSession = false } }

    private func handOver(_ shard: Int, to successor: String?) {
        guard let part = parts[shard], part.isLeaving else { return }
        guard part.underWay.isEmpty, part.isLoaded else { return after(20) { self.handOver(shard, to: successor) } }
        ask({ self.world.store.leases.handOver(shard, epoch: part.epoch, to: successor) }) { [self] answer in
            guard parts[shard]?.epoch == part.epoch else { return }
            guard case .value = answer else { return handOver(shard, to: successor) }
            member.released(shard: shard)
            parts[shard] = nil
        }
    }

    // MARK: Requests

    func receive(_ request: Int, shard: Int) {
        guard let part = parts[shard], part.hasSession, !part.isLeaving else { return }
        if let match = part.matches[request] { return reply(request, match, shard, part.epoch) }
        guard !part.underWay.contains(request) else { return }
        parts[shard]?.underWay.insert(request)
        commit(request, shard, part.epoch)
    }

    private func commit(_ request: Int, _ shard: Int, _ epoch: Int64) {
        ask({ self.world.store.commit(request, shard: shard, epoch: epoch, node: self.name) }) { [self] answer in
            guard parts[shard]?.epoch == epoch else { return }
            switch answer {
            // What became of it is not known: it is written again, which comes to the same.
            case .none, .refused: commit(request, shard, epoch)
            case .value(nil): drop(shard)
            case .value(let match?):
                parts[shard]?.underWay.remove(request)
                parts[shard]?.matches[request] = match
                reply(request, match, shard, epoch)
            }
        }
    }

    private var maySpeak: Bool { reachesBroker && (!world.fallsSilent || member.isFresh(at: world.time.now)) }

    private func reply(_ request: Int, _ match: String, _ shard: Int, _ epoch: Int64) {
        guard maySpeak else { return }
        world.replied(request, shard: shard)
        publish(request, match, shard, epoch)
    }

    private func publish(_ request: Int, _ match: String, _ shard: Int, _ epoch: Int64) {
        guard maySpeak else { return }
        world.published(match, of: request, shard: shard, epoch: epoch, by: name)
    }
}
