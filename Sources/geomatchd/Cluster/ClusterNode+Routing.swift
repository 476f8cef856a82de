import Cluster
import Logging
import MQTTDoor

// What is for a shard: passed on to its owner, or kept until it has one.

extension ClusterNode {
    /// Where a shard is at present.
    enum ShardLocation {
        case here(ShardDaemon)
        /// It begins here.
        case beginning
        case elsewhere(ClusterView.Node)
        case nobody
    }

    /// Has a shard that is this node's begin, where it does not run yet.
    func location(of shard: Int) -> ShardLocation {
        lock.withLock {
            if let daemon = shards[shard] {
                // Who does not reach the store may have lost it; while the session at the broker is open, nobody has taken it.
                return clock.isFresh || daemon.isOnline ? .here(daemon) : .nobody
            }
            if member.serving[shard] != nil {
                if waiting[shard] == nil { waiting[shard] = [] }
                lookAgain()
                return .beginning
            }
            guard let owner = view?.owner(of: shard), owner != name, let node = view?.nodes.first(where: { $0.name == owner })
            else {
                lookAgain()
                return .nobody
            }
            return .elsewhere(node)
        }
    }

    /// A message for a shard: it goes to its owner, here or elsewhere, or waits until the shard has one.
    ///
    /// - Parameter wasPassedOn: By another node.
    func route(_ message: RoutedMessage, wasPassedOn: Bool = false) {
        let arrival = OwnerlessMessage(message: message, since: LeaseClock.now(), wasPassedOn: wasPassedOn)
        lock.withLock {
            // In order: behind what waits for the next beat.
            if ownerless.count < Self.ownerlessMax, ownerless.contains(where: { $0.message.shard == message.shard }) {
                ownerless.append(arrival)
            } else {
                keepOrPass(arrival)
            }
        }
    }

    /// Keeps a message here, or sends it to the other node that it is for. Only while the lock is held.
    private func keepOrPass(_ arrival: OwnerlessMessage) {
        let message = arrival.message
        if let shard = shards[message.shard] {
            shard.running.door.receive(message)
        } else if member.serving[message.shard] != nil, waiting[message.shard, default: []].count < Self.ownerlessMax {
            waiting[message.shard, default: []].append(message)
            hurried.signal()
        } else if !arrival.wasPassedOn, let owner = view?.owner(of: message.shard), owner != name {
            door.send(message, to: owner)
        } else if ownerless.count < Self.ownerlessMax {
            ownerless.append(arrival)
        } else {
            noteLost(message)
        }
    }

    private func noteLost(_ message: RoutedMessage) {
        log.error(
            "a message is lost: its shard had no owner for too long", metadata: ["shard": .stringConvertible(message.shard)])
    }

    /// A shard is no longer served here: what waits for it looks for its owner again. Only while the lock is held.
    func giveBack(_ shard: Int) {
        for message in waiting.removeValue(forKey: shard) ?? [] {
            ownerless.append(OwnerlessMessage(message: message, since: LeaseClock.now(), wasPassedOn: false))
        }
    }

    /// What came for shards that were just then nobody's.
    func routeOwnerless() {
        let now = LeaseClock.now()
        lock.withLock {
            let all = ownerless
            ownerless = []
            for arrival in all {
                if now - arrival.since < Self.ownerlessMilliseconds { keepOrPass(arrival) } else { noteLost(arrival.message) }
            }
        }
    }

    private static let ownerlessMax = 10_000
    private static let ownerlessMilliseconds: Int64 = 10_000
}
