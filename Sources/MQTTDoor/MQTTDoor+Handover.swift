import DaemonCore
import Datasets
import MQTTLink
import Synchronization

// A shard that moves keeps the order of its messages. What comes to its owner as that ends is passed on to the next one, whose session
// brings what came later: this waits until the former is there. How much that is, the former owner leaves in the store.

/// What a door that follows another one waits for.
struct Handover {
    /// So many messages of the former owner are still to come.
    var expected: Int
    /// Until when they are waited for; nil: the session is not open yet.
    fileprivate var deadline: Int64?
    /// What the session brought meanwhile.
    fileprivate var waiting = KeptMessages()

    init(expected: Int) { self.expected = expected }

    fileprivate static let patienceMilliseconds: Int64 = 2000
}

extension MQTTDoor {
    // MARK: The former owner

    /// How many messages of its shard it passed on as it ended. From any thread.
    public var passedOnCount: Int { passedOn.load(ordering: .acquiring) }

    /// The message as it is passed on, and counted where it is for the next owner.
    func marked(_ message: RoutedMessage) -> RoutedMessage {
        guard isHandingOver, message.shard == role?.shard, !message.isRetained else { return message }
        passedOn.add(1, ordering: .releasing)
        var marked = message
        marked.isOfFormerOwner = true
        return marked
    }

    // MARK: The next owner

    /// Whether a message waits for those that came to the former owner of its dataset.
    func waits(_ message: InboundMessage) -> Bool {
        guard handover.expected > 0, let dataset = ownDataset(of: message) else { return false }
        guard handover.waiting.keep(RoutedMessage(message, of: dataset), of: dataset) else {
            endHandover()
            return false
        }
        if message.leftOut > 0 { core.countConflated(Int(message.leftOut), of: dataset) }
        return true
    }

    /// The dataset in which a message is to be handled here; nil: in none.
    private func ownDataset(of message: InboundMessage) -> String? {
        if !adapters.isEmpty,
            let adapted = adapters.read(topic: message.topic, payload: message.payload, padded: true, retained: message.retain)
        {
            return reading(of: adapted.dataset) == .here ? adapted.dataset : nil
        }
        switch topics.read(message.topic) {
        case .request(let dataset, _, _): return reading(of: dataset) == .here ? dataset : nil
        case .update(let topic):
            let dataset = Self.dataset(of: topic)
            return reading(of: dataset) == .here ? dataset : nil
        case .malformedRequest, .other: return nil
        }
    }

    /// The session is open: what is expected should be there soon.
    func awaitHandover() {
        if handover.expected > 0 { handover.deadline = core.clock.monotonic() + Handover.patienceMilliseconds }
    }

    /// These messages that were passed on were handled.
    func noteCame(_ messages: [RoutedMessage]) {
        guard handover.expected > 0 else { return }
        handover.expected -= messages.count { $0.isOfFormerOwner }
        if handover.expected <= 0 { endHandover() }
    }

    func settleHandover() {
        if let deadline = handover.deadline, core.clock.monotonic() >= deadline { endHandover() }
    }

    /// Handles what waited. From here on nothing waits.
    func endHandover() {
        let waiting = handover.waiting.take { _ in true }
        handover = Handover(expected: 0)
        handle(waiting)
    }
}
