import LiveTopics
@testable import Records

/// A broker as mosquitto is one: retained messages, one persistent session, and what it has saved of both when it dies.
final class SimulatedBroker {
    struct Message {
        var topic: String
        var payload: [UInt8]
        var qos: Int32
        var retain = false
    }

    private struct Filter {
        var text: String
        var filter: TopicFilter
        var qos: Int32
    }

    /// What a file of mosquitto holds.
    private struct State {
        var retained: [String: [UInt8]] = [:]
        /// The daemon's filters; nil where it has no session.
        var filters: [Filter]?
        /// QoS 1 messages for a daemon that is away.
        var queue: [Message] = []
    }

    private var state = State()
    private var saved = State()
    private(set) var isUp = true
    /// The daemon's connection.
    private weak var link: SimulatedLink?
    private var will: Message?
    /// What every client that listens has seen, in order.
    private(set) var seen: [Message] = []
    /// A message that two filters of the session let through: a real broker may deliver it twice.
    private(set) var overlap: String?

    var retained: [String: [UInt8]] { state.retained }

    func publish(_ message: Message) {
        guard isUp else { return }
        if message.retain { state.retained[message.topic] = message.payload.isEmpty ? nil : message.payload }
        seen.append(message)
        pass(message, retained: false)
    }

    private func pass(_ message: Message, retained: Bool) {
        let filters = (state.filters ?? []).filter { $0.filter.matches(message.topic) }
        guard let filter = filters.first else { return }
        if filters.count > 1 { overlap = "\(message.topic) by \(filters.map(\.text))" }
        var message = message
        message.qos = min(message.qos, filter.qos)
        message.retain = retained
        if let link { link.deliver(.message(message)) } else if message.qos > 0 { state.queue.append(message) }
    }

    // MARK: The daemon's session

    func connect(_ link: SimulatedLink, will: Message) {
        self.link = link
        self.will = will
        let isPresent = state.filters != nil
        state.filters = state.filters ?? []
        link.deliver(.connected(sessionPresent: isPresent))
        for message in state.queue { link.deliver(.message(message)) }
        state.queue = []
    }

    func subscribe(_ filters: [(filter: String, qos: Int32)]) -> [UInt8] {
        var granted: [UInt8] = []
        for (text, qos) in filters {
            guard let filter = try? TopicFilter(text) else {
                granted.append(0x8F)
                continue
            }
            state.filters?.removeAll { $0.text == text }
            state.filters?.append(Filter(text: text, filter: filter, qos: qos))
            granted.append(UInt8(qos))
            for (topic, payload) in state.retained.sorted(by: { $0.key < $1.key }) where filter.matches(topic) {
                link?.deliver(.message(Message(topic: topic, payload: payload, qos: 0, retain: true)))
            }
        }
        return granted
    }

    func unsubscribe(_ filters: [String]) { state.filters?.removeAll { filters.contains($0.text) } }

    /// The connection is gone; what it had not taken and was promised comes again.
    func disconnect(returning messages: [Message], publishesWill: Bool) {
        link = nil
        state.queue = messages.filter { $0.qos > 0 } + state.queue
        if publishesWill, isUp, let will { publish(will) }
        will = nil
    }

    // MARK: Its own death

    func save() { saved = state }

    /// Killed and started again: what was not saved is gone, or everything is.
    func restart(losesEverything: Bool) {
        if losesEverything { saved = State() }
        state = saved
        isUp = true
    }

    func kill() { isUp = false }
}
