import Datasets
import HomeAssistant
import LiveTopics
import MQTTLink

// What Home Assistant discovers: retained below its prefix, and read back, so that what went while we were away is removed.

/// What an operator decides about Home Assistant.
public struct HomeAssistantSettings: Equatable, Sendable {
    /// Before `/device/…/config`.
    public var prefix: String
    /// Patterns of the datasets that are discovered; none: what an earlier life said is removed.
    public var datasets: [String]
    /// Of these, too, where that is not nil: what else is discovered comes later.
    var within: [String]?

    public init(prefix: String = "homeassistant", datasets: [String] = []) {
        self.prefix = prefix
        self.datasets = datasets
    }

    /// Whether a dataset is to be discovered.
    func discovers(_ dataset: String) -> Bool {
        func isAmong(_ patterns: [String]) -> Bool {
            AccessPatterns(patterns.map { "\($0)/*" }).allow(client: "", in: dataset)
        }
        return isAmong(datasets) && within.map(isAmong) != false
    }

    var tree: String { "\(prefix)/device/\(Discovery.node)/" }
    /// What we retain comes back by this.
    var filter: String { tree + "+/config" }

    func topic(of object: String) -> String { "\(tree)\(object)/config" }
}

extension MQTTDoor {
    /// So many messages go out in one turn of the loop.
    private static let discoveryBurst = 500
    private static let discoveryMilliseconds: Int64 = 500

    /// Whether the broker may retain what is ours below Home Assistant's prefix.
    var readsDiscovery: Bool {
        !configuration.homeAssistant.datasets.isEmpty
            || !isDiscoveryRemoved && session.held.contains(configuration.homeAssistant.filter)
    }

    /// What the broker retains of ours; the hub never sees it.
    func isDiscovery(_ message: InboundMessage) -> Bool {
        guard message.topic.starts(with: discoveryTree) else { return false }
        let name = String(decoding: message.topic.dropFirst(discoveryTree.count), as: UTF8.self)
        if message.retain, name.hasSuffix("/config") {
            discovery.noteRetained(String(name.dropLast("/config".count)), Array(message.payload))
        }
        return true
    }

    /// A live state that leaves.
    func discover(_ topic: UnsafeRawBufferPointer, isKnown: Bool) {
        guard !configuration.homeAssistant.datasets.isEmpty else { return }
        let topic = String(decoding: topic, as: UTF8.self)
        guard discovers(String(topic.prefix { $0 != "/" })) else { return }
        discovery.note(topic, isKnown: isKnown)
    }

    private func discovers(_ dataset: String) -> Bool {
        if let known = discovered[dataset] { return known }
        let isWanted = configuration.homeAssistant.discovers(dataset)
        discovered[dataset] = isWanted
        return isWanted
    }

    /// Other datasets are to be discovered.
    ///
    /// - Parameter isWhole: Else what is not among them goes, and what they add comes with the next call.
    func rediscover(_ datasets: [String], isWhole: Bool) {
        let former = configuration.homeAssistant
        configuration.homeAssistant.datasets = isWhole ? datasets : former.datasets
        configuration.homeAssistant.within = isWhole ? nil : datasets
        guard configuration.homeAssistant != former else { return }
        (discovered, discoveredEvents, isDiscoveryRemoved) = ([:], [:], false)
        for dataset in discovery.allDatasets where !discovers(dataset) { discovery.forget(dataset: dataset) }
        updateFilters()
        if session.phase == .online { beginDiscovery() }
        nextDiscoveryAt = 0
    }

    private func events(of dataset: String) -> Set<Discovery.EventSource> {
        var sources: Set<Discovery.EventSource> = []
        core.hub.forEachEventSubscription(of: dataset) { device, subscription, recipient in
            let topic = topics.naming.tree(recipient.dataset, recipient.client) + recipient.path
            sources.insert(Discovery.EventSource(device: device, subscription: subscription, topic: topic))
        }
        return sources
    }

    /// We are online: every live topic that is known counts, whether or not it is published again.
    func beginDiscovery() {
        guard !configuration.homeAssistant.datasets.isEmpty else { return }
        core.hub.forEachLiveTopic { dataset, topic in
            if discovers(dataset) { discovery.note(topic, isKnown: true) }
        }
    }

    /// Publishes what changed.
    ///
    /// - Returns: When to go on, on the monotonic clock's scale of ``core``.
    func settleDiscovery(at now: Int64) -> Int64 {
        guard session.phase == .online, readsDiscovery else { return .max }
        nextDiscoveryAt = min(nextDiscoveryAt, now + Self.discoveryMilliseconds)
        guard now >= nextDiscoveryAt else { return nextDiscoveryAt }
        nextDiscoveryAt = now + Self.discoveryMilliseconds
        let names = core.hub.datasetNames
        for dataset in discovery.datasets.subtracting(names) where role?.serves(dataset) != false {
            discovery.forget(dataset: dataset)
            discoveredEvents[dataset] = nil
        }
        for dataset in names where discovers(dataset) {
            discovery.setPrivate(core.hub.hidesPositions(dataset), dataset: dataset)
            let version = core.hub.eventsVersion(of: dataset)
            if version == discoveredEvents[dataset] ?? 0 { continue }
            discoveredEvents[dataset] = version
            discovery.setEvents(events(of: dataset), of: dataset)
        }
        discovery.send(atMost: Self.discoveryBurst) { message in
            let result = configuration.homeAssistant.topic(of: message.object).withCString { name in
                message.payload.withUnsafeBytes {
                    link?.publish(OutgoingMessage(topic: name, payload: $0, qos: 1, retain: true))
                }
            }
            return result == .accepted
        }
        if !discovery.hasChanges, configuration.homeAssistant.datasets.isEmpty {
            // All that an earlier life said is gone.
            isDiscoveryRemoved = true
            updateFilters()
        }
        return nextDiscoveryAt
    }
}
