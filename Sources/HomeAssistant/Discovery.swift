import LiveTopics
import Wire

/// Which devices and rooms Home Assistant is to know, decided from the live topics that are known: what to retain below its prefix.
///
/// One message describes all of a device or a room, and points at topics that exist already. It holds no clock and no connection: what
/// changed waits until ``send(atMost:_:)``.
public struct Discovery: Sendable {
    /// A message to retain; empty: to remove.
    public struct Message: Equatable, Sendable {
        /// The last but one level of its topic.
        public var object: String
        public var payload: [UInt8]
    }

    /// A subscription whose matches are events.
    public struct EventSource: Hashable, Sendable {
        public var device: String
        public var subscription: String
        /// On which its matches come.
        public var topic: String

        public init(device: String, subscription: String, topic: String) {
            self.device = device
            self.subscription = subscription
            self.topic = topic
        }
    }

    /// A device, or a room or what lies above it.
    private struct Thing {
        var dataset: String
        /// The id of the device, or the levels from the venue down.
        var levels: [String]
        /// The live topic of each domain.
        var topics: [String: String] = [:]
        var events: [String: EventSource] = [:]
    }

    private let topics: Naming
    private var things: [String: Thing] = [:]
    /// By the object's name: what the broker retains.
    private var retained: [String: [UInt8]] = [:]
    private var changed: Set<String> = []
    /// Datasets that show where nobody is.
    private var privateDatasets: Set<String> = []
    private var events: [String: Set<EventSource>] = [:]
    /// Every topic that is known, so that an update of one costs a look-up.
    private var known: Set<String> = []

    /// How geomatch's topics are called here.
    public struct Naming: Sendable {
        /// Before `live/` and `geomatch/`: empty, or ends with `/`.
        public var prefix: String
        public var version: String

        public init(prefix: String, version: String) {
            self.prefix = prefix
            self.version = version
        }

        var status: String { prefix + "geomatch/status" }
    }

    public init(_ topics: Naming) { self.topics = topics }

    // MARK: What is known

    /// A live topic is known, or not any more.
    ///
    /// - Parameter topic: Its seven levels.
    public mutating func note(_ topic: String, isKnown: Bool) {
        guard isKnown ? known.insert(topic).inserted : known.remove(topic) != nil else { return }
        guard let (key, thing, domain) = Self.thing(of: topic) else { return }
        var present = things[key] ?? thing
        if isKnown {
            present.topics[domain] = topic
        } else {
            // One that moved to another topic is known there.
            guard present.topics[domain] == topic else { return }
            present.topics[domain] = nil
        }
        put(present, key)
    }

    private mutating func put(_ thing: Thing, _ key: String) {
        things[key] = thing.topics.isEmpty && thing.events.isEmpty ? nil : thing
        changed.insert(key)
    }

    /// The subscriptions of a dataset whose owners want events.
    public mutating func setEvents(_ sources: Set<EventSource>, of dataset: String) {
        let former = events[dataset] ?? []
        guard sources != former else { return }
        events[dataset] = sources.isEmpty ? nil : sources
        for source in former.subtracting(sources) { change(source, in: dataset, isWanted: false) }
        for source in sources.subtracting(former) { change(source, in: dataset, isWanted: true) }
    }

    private mutating func change(_ source: EventSource, in dataset: String, isWanted: Bool) {
        let key = Self.object([dataset, source.device])
        var thing = things[key] ?? Thing(dataset: dataset, levels: [source.device])
        if !isWanted, thing.events[source.subscription] != source { return }
        thing.events[source.subscription] = isWanted ? source : nil
        put(thing, key)
    }

    /// A dataset shows where nobody is: nothing of it is discovered but occupancy.
    public mutating func setPrivate(_ isPrivate: Bool, dataset: String) {
        guard isPrivate != privateDatasets.contains(dataset) else { return }
        if isPrivate { privateDatasets.insert(dataset) } else { privateDatasets.remove(dataset) }
        for (key, thing) in things where thing.dataset == dataset { changed.insert(key) }
    }

    /// Those that something is known of beside their live topics.
    public var datasets: Set<String> { privateDatasets.union(events.keys) }

    /// Those that anything is known of. Looks at all things.
    public var allDatasets: Set<String> { datasets.union(things.values.map(\.dataset)) }

    /// A dataset is gone, or not to be discovered any more.
    public mutating func forget(dataset: String) {
        events[dataset] = nil
        privateDatasets.remove(dataset)
        for (key, thing) in things where thing.dataset == dataset {
            known.subtract(thing.topics.values)
            things[key] = nil
            changed.insert(key)
        }
    }

    // MARK: What the broker retains

    /// The broker says what it retains; what is none of ours by its content is left alone.
    public mutating func noteRetained(_ object: String, _ payload: [UInt8]) {
        guard !payload.isEmpty, let message = (try? JSONValue.parse(payload))?.asObject,
            message["o"]?.asObject?["name"] == .string(Self.origin),
            message["avty"]?.asArray?.first?.asObject?["topic"] == .string(topics.status)
        else { return }
        retained[object] = payload
        changed.insert(object)
    }

    /// The broker may have lost all.
    public mutating func forgetRetained() {
        retained = [:]
        changed.formUnion(things.keys)
    }

    public var hasChanges: Bool { !changed.isEmpty }

    /// Hands over what is to be retained from now on and is not yet, in a stated order.
    ///
    /// - Parameter send: Whether it went out; one that did not is handed over again the next time.
    public mutating func send(atMost count: Int, _ send: (Message) -> Bool) {
        var left = count
        for object in changed.sorted() {
            let payload = things[object].flatMap(encode) ?? []
            if payload != retained[object] ?? [] {
                if payload.isEmpty, let parting = parting(from: object) {
                    guard left > 0, send(Message(object: object, payload: parting)) else { return }
                    left -= 1
                    retained[object] = parting
                }
                guard left > 0, send(Message(object: object, payload: announcing(payload, in: object))) else { return }
                left -= 1
                retained[object] = payload.isEmpty ? nil : payload
            }
            changed.remove(object)
        }
    }

    /// Components that a device loses are removed by name: Home Assistant keeps what a message leaves out.
    private func announcing(_ payload: [UInt8], in object: String) -> [UInt8] {
        guard !payload.isEmpty, let former = Self.components(of: retained[object]),
            case .object(var message)? = try? JSONValue.parse(payload), var components = message["cmps"]?.asObject
        else { return payload }
        var isChanged = false
        for member in former.members where components[member.key] == nil {
            guard let platform = member.value.asObject?["p"] else { continue }
            components[member.key] = ["p": platform]
            isChanged = true
        }
        guard isChanged else { return payload }
        message["cmps"] = .object(components)
        return JSONValue.object(message).serialised()
    }

    /// A message that removes each component of a device by name: before 2025.4.3 Home Assistant removes none for an empty one. nil where
    /// that was said.
    private func parting(from object: String) -> [UInt8]? {
        guard let former = retained[object], case .object(var message)? = try? JSONValue.parse(former),
            let components = message["cmps"]?.asObject
        else { return nil }
        var removed = JSONObject()
        for member in components.members { removed[member.key] = ["p": member.value.asObject?["p"] ?? .null] }
        message["cmps"] = .object(removed)
        let parting = JSONValue.object(message).serialised()
        return parting == former ? nil : parting
    }

    private static func components(of payload: [UInt8]?) -> JSONObject? {
        payload.flatMap { try? JSONValue.parse($0) }?.asObject?["cmps"]?.asObject
    }

    // MARK: Names

    static let origin = "geomatch"
    /// The level before the object's: what the daemon reads back.
    public static let node = "geomatch"

    /// Levels as one name of `A-Z a-z 0-9 _ -`, different for different levels.
    static func object(_ levels: [String]) -> String {
        var name: [UInt8] = []
        for (index, level) in levels.enumerated() {
            if index > 0 { name += "__".utf8 }
            for byte in level.utf8 {
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
                    name.append(byte)
                default:
                    let digits = Array("0123456789abcdef".utf8)
                    name += [UInt8(ascii: "_"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                }
            }
        }
        return String(decoding: name, as: UTF8.self)
    }

    private static let domains: Set<String> = [
        "position", "presence", "occupancy", "availability", "count", "temperature", "humidity", "co2",
    ]

    private static func thing(of topic: String) -> (key: String, thing: Thing, domain: String)? {
        let parts = topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 7, let domain = LevelCoding.decode(parts[6]), domains.contains(domain) else { return nil }
        let levels = parts[..<6].compactMap { LevelCoding.decode($0) }
        guard levels.count == 6 else { return nil }
        let isOfDevice = domain == "position" || domain == "presence"
        guard !isOfDevice || levels[5] != LiveTopic.notApplicable else { return nil }
        // A device is the same wherever it is; each room may have a desk of the same name.
        let isAnywhere = levels[1..<5].allSatisfy { $0 == LiveTopic.notApplicable }
        let isDevice = isOfDevice || isAnywhere
        let own = isDevice ? [levels[5]] : Array(levels[1..<(levels[5] == LiveTopic.notApplicable ? 5 : 6)])
        guard own.contains(where: { $0 != LiveTopic.notApplicable }) else { return nil }
        return (object([levels[0]] + own), Thing(dataset: levels[0], levels: own), domain)
    }

    // MARK: Messages

    private func encode(_ thing: Thing) -> [UInt8]? {
        let identity = ([thing.dataset] + thing.levels).map(LevelCoding.encode).joined(separator: "/")
        let unique = "geomatch/" + identity
        var components: [(String, JSONObject)] = []
        let isPrivate = privateDatasets.contains(thing.dataset)
        for (domain, topic) in thing.topics.sorted(by: { $0.key < $1.key }) where !isPrivate || domain == "occupancy" {
            components += Component.all(of: domain, topic: topics.prefix + "live/" + topic)
        }
        if !isPrivate {
            for source in thing.events.values.sorted(by: { $0.subscription < $1.subscription }) {
                components.append(("match-" + source.subscription, Component.event(source, topics.prefix + source.topic)))
            }
        }
        guard !components.isEmpty else { return nil }
        var members = JSONObject()
        for (name, component) in components {
            var component = component
            component["unique_id"] = .string("\(unique)/\(name)")
            members[name] = .object(component)
        }
        let name = thing.levels.filter { $0 != LiveTopic.notApplicable }.joined(separator: " ")
        let message: JSONValue = [
            "dev": ["ids": [.string(unique)], "name": .string(name), "mf": "geomatch"],
            "o": ["name": .string(Self.origin), "sw": .string(topics.version)],
            "avty": [["topic": .string(topics.status), "value_template": "{{ value_json.state }}"]],
            "cmps": .object(members),
        ]
        return message.serialised()
    }
}
