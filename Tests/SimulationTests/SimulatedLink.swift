import MQTTLink

@testable import MQTTDoor

/// One daemon's connection: packets that travel both ways as slowly as the simulation wants, and are lost with it.
final class SimulatedLink: BrokerLink {
    enum Event {
        case connected(sessionPresent: Bool)
        case message(SimulatedBroker.Message)
        case subscribed(id: Int32, granted: [UInt8])
        case unsubscribed(id: Int32)
        case acknowledged(number: Int)
    }

    private enum Packet {
        case publish(SimulatedBroker.Message, number: Int)
        case subscribe(id: Int32, [(filter: String, qos: Int32)])
        case unsubscribe(id: Int32, [String])
    }

    private let broker: SimulatedBroker
    private let disk: SimulatedDisk
    private(set) var isConnected = false
    private var incoming: [Event] = []
    private var outgoing: [Packet] = []
    /// QoS 1 messages of which no acknowledgement came: the library sends them again over the next connection.
    private var unconfirmed: [(number: Int, message: SimulatedBroker.Message, token: UInt64)] = []
    private var lastNumber = 0
    private var lastID: Int32 = 0
    private(set) var stopWasAsked = false

    init(broker: SimulatedBroker, disk: SimulatedDisk) {
        self.broker = broker
        self.disk = disk
    }

    // MARK: What the loop uses

    var queuedMessages: Int { outgoing.count }
    var unacknowledged: Int { unconfirmed.count }

    func publish(_ message: OutgoingMessage) -> MQTTPublishResult {
        // A dead process says nothing.
        guard !disk.hasCrashed else { return .accepted }
        guard isConnected else { return .notConnected }
        let copy = SimulatedBroker.Message(
            topic: String(cString: message.topic), payload: Array(message.payload), qos: message.qos, retain: message.retain)
        lastNumber += 1
        if message.qos > 0 { unconfirmed.append((lastNumber, copy, message.token)) }
        outgoing.append(.publish(copy, number: lastNumber))
        return .accepted
    }

    func subscribe(_ filters: [(filter: String, qos: Int32)]) -> Int32 {
        guard isConnected, !disk.hasCrashed else { return -1 }
        lastID += 1
        outgoing.append(.subscribe(id: lastID, filters))
        return lastID
    }

    func unsubscribe(_ filters: [String]) -> Int32 {
        guard isConnected, !disk.hasCrashed else { return -1 }
        lastID += 1
        outgoing.append(.unsubscribe(id: lastID, filters))
        return lastID
    }

    func wake() {}

    func stop(drainSeconds: Double) { stopWasAsked = true }

    // MARK: What the network does

    var isIdle: Bool { incoming.isEmpty && outgoing.isEmpty }

    func connect(will: SimulatedBroker.Message) {
        isConnected = true
        broker.connect(self, will: will)
        outgoing = unconfirmed.map { .publish($0.message, number: $0.number) }
    }

    func deliver(_ event: Event) { incoming.append(event) }

    /// Packets that reach the broker.
    func carryOut(_ count: Int) {
        for _ in 0..<min(count, outgoing.count) {
            switch outgoing.removeFirst() {
            case .publish(let message, let number):
                broker.publish(message)
                if message.qos > 0 { incoming.append(.acknowledged(number: number)) }
            case .subscribe(let id, let filters):
                let granted = broker.subscribe(filters)
                incoming.append(.subscribed(id: id, granted: granted))
            case .unsubscribe(let id, let filters):
                broker.unsubscribe(filters)
                incoming.append(.unsubscribed(id: id))
            }
        }
    }

    /// The next thing that reaches the daemon.
    func next() -> Event? { incoming.isEmpty ? nil : incoming.removeFirst() }

    /// The token of an acknowledged message; nil where it was acknowledged before.
    func confirm(_ number: Int) -> UInt64? {
        guard let index = unconfirmed.firstIndex(where: { $0.number == number }) else { return nil }
        return unconfirmed.remove(at: index).token
    }

    /// The connection breaks.
    ///
    /// - Parameter again: A message that was handed over and whose acknowledgement got lost: the broker delivers it again.
    func disconnect(again: SimulatedBroker.Message?, publishesWill: Bool) {
        let undelivered = incoming.compactMap { event -> SimulatedBroker.Message? in
            if case .message(let message) = event, !message.retain { message } else { nil }
        }
        isConnected = false
        incoming = []
        outgoing = []
        broker.disconnect(returning: (again.map { [$0] } ?? []) + undelivered, publishesWill: publishesWill)
    }
}
