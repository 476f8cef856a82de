import Cluster

/// A broker with one persistent session for each shard: connecting cuts the connected client and inherits what waits.
final class ModelBroker {
    private struct Session {
        var waiting: [Int] = []
        var node: ModelNode?
        var connection = 0
    }

    private let time: VirtualTime
    private var sessions = [Session](repeating: Session(), count: Sharding.count)

    init(_ time: VirtualTime) { self.time = time }

    func publish(_ request: Int, shard: Int) {
        sessions[shard].waiting.append(request)
        deliver(shard)
    }

    func connect(_ node: ModelNode, shard: Int) {
        let former = sessions[shard].node
        sessions[shard].node = node
        sessions[shard].connection += 1
        if let former, former !== node { former.sessionWasCut(shard) }
        deliver(shard)
    }

    /// The session stays, with what waits in it.
    func disconnect(_ node: ModelNode, shard: Int) {
        if sessions[shard].node === node { sessions[shard].node = nil }
    }

    /// What a node reads is acknowledged at once, before it has done anything with it.
    private func deliver(_ shard: Int) {
        let connection = sessions[shard].connection
        guard let node = sessions[shard].node, !sessions[shard].waiting.isEmpty else { return }
        time.after(2) { [self] in
            guard sessions[shard].connection == connection, sessions[shard].node === node else { return }
            // Nobody reads: it stays in the session.
            guard node.reads else { return time.after(100) { self.deliver(shard) } }
            let requests = sessions[shard].waiting
            sessions[shard].waiting = []
            for request in requests { node.receive(request, shard: shard) }
        }
    }
}
