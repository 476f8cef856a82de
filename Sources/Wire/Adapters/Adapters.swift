import LiveTopics

/// A message of another ecosystem as live updates, or why it is refused.
public struct AdaptedMessage: Sendable {
    /// One live update.
    public struct Update: Equatable, Sendable {
        public var topic: LiveTopic
        /// Native; empty clears the state.
        public var payload: [UInt8]
    }

    /// Whom it is about: a name that may be malformed, where the topic gave it.
    public var dataset: String
    public var updates: Result<[Update], WireError>

    public init(dataset: String, updates: Result<[Update], WireError>) {
        self.dataset = dataset
        self.updates = updates
    }
}

/// All the adapters of a configuration: finds whose a message is, and reads it.
///
/// One value belongs to one task at a time.
public final class Adapters {
    private struct Route {
        let rule: AdapterRule
        let filter: TopicFilter
        /// What the topics begin with, up to the first wildcard.
        let beginning: [UInt8]
        var adapter: any PayloadAdapter
        /// Of formats that leave it open.
        let domain: LevelTemplate?
    }

    /// Bytes of the longest payload that is read.
    public static let payloadBytesMax = LiveUpdateDecoder.payloadBytesMax

    private var routes: [Route]
    private let parser = JSONParser()

    public init(_ rules: [AdapterRule]) {
        routes = rules.compactMap { rule in
            guard let format = AdapterFormat.adapter(named: rule.format), let filter = try? TopicFilter(rule.filter) else {
                return nil
            }
            let beginning = rule.filter.utf8.prefix { $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "#") }
            // `a/#` matches `a`, too.
            let end = rule.filter.utf8.last == UInt8(ascii: "#") ? beginning.dropLast() : beginning
            let domain = rule.levels["domain"] ?? LevelTemplate(parts: [.text(KnownDomain.position.rawValue)])
            return Route(
                rule: rule, filter: filter, beginning: Array(end), adapter: format.init(),
                domain: format.format.domains.isEmpty ? domain : nil)
        }
    }

    public var isEmpty: Bool { routes.isEmpty }

    /// Reads a message; nil where no adapter's filter matches its topic.
    ///
    /// - Parameter padded: 64 bytes behind the payload are readable; without it the payload is copied.
    public func read(
        topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, padded: Bool = false, retained: Bool = false
    ) -> AdaptedMessage? {
        for index in routes.indices where topic.starts(with: routes[index].beginning) {
            guard let text = String(validating: topic, as: UTF8.self) else { return nil }
            let levels = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            guard let wildcards = routes[index].filter.wildcards(in: levels) else { continue }
            let topic = AdapterTopic(levels: levels, wildcards: wildcards, isRetained: retained)
            return read(payload, padded: padded, on: topic, by: index)
        }
        return nil
    }

    private func read(
        _ payload: UnsafeRawBufferPointer, padded: Bool, on topic: AdapterTopic, by index: Int
    ) -> AdaptedMessage {
        let rule = routes[index].rule
        // Templates of a dataset hold no payload, so this only fails where a level is too long.
        let dataset = (try? rule.dataset.render("dataset", topic: topic, item: "", payload: nil)) ?? ""
        do throws(WireError) {
            return AdaptedMessage(
                dataset: dataset, updates: .success(try updates(payload, padded: padded, topic, index, dataset: dataset)))
        } catch {
            return AdaptedMessage(dataset: dataset, updates: .failure(error))
        }
    }

    private func updates(
        _ payload: UnsafeRawBufferPointer, padded: Bool, _ topic: AdapterTopic, _ index: Int, dataset: String
    ) throws(WireError) -> [AdaptedMessage.Update] {
        guard Name.isDataset(dataset) else {
            throw WireError(.invalid, LiveTopicError.malformedDataset.message, field: "dataset")
        }
        if payload.isEmpty { return try cleared(topic, index, dataset: dataset) }
        if routes[index].adapter.ignores(payload, on: topic) { return [] }
        guard payload.count <= Self.payloadBytesMax else {
            throw WireError(.tooLarge, "a live update has at most \(Self.payloadBytesMax) bytes, not \(payload.count)")
        }
        guard !payload.starts(with: Self.gzip) else {
            throw WireError(.invalid, "the payload is compressed (gzip), not JSON: publish it as it is")
        }
        if payload.first != UInt8(ascii: "{"),
            let object = try topicDomain(topic, index).flatMap({ BareScalar.object(of: payload, domain: $0) })
        {
            return try object.withUnsafeBufferPointer { bytes throws(WireError) in
                try updates(UnsafeRawBufferPointer(bytes), padded: false, topic, index, dataset: dataset)
            }
        }
        // The nodes live in the parser, which optimised code might otherwise let go after its last mention.
        defer { withExtendedLifetime(parser) {} }
        let root: JSONNode
        do throws(JSONError) {
            root = try parser.root(of: payload, padded: padded)
        } catch {
            throw PayloadRefusal.of(payload, domain: try topicDomain(topic, index), error)
        }
        guard root.kind == .object else { throw PayloadRefusal.of(root, domain: try topicDomain(topic, index)) }
        var topic = topic
        if let domain = routes[index].domain {
            topic.domain = try domain.render("domain", topic: topic, item: "", payload: root).lowercased()
        }
        var readings = AdapterReadings(isRetained: topic.isRetained)
        try routes[index].adapter.read(root, on: topic, into: &readings)
        try readings.endSightings()
        return try place(readings.all, topic, routes[index].rule, dataset: dataset, payload: root)
    }

    /// The domain of the update, where the format leaves it open and the topic alone gives it.
    private func topicDomain(_ topic: AdapterTopic, _ index: Int) throws(WireError) -> String? {
        guard let domain = routes[index].domain, !domain.readsPayload else { return nil }
        return try domain.render("domain", topic: topic, item: "", payload: nil).lowercased()
    }

    /// An empty payload clears a state, never an error; where only a payload decides which, none.
    private func cleared(
        _ topic: AdapterTopic, _ index: Int, dataset: String
    ) throws(WireError) -> [AdaptedMessage.Update] {
        let route = routes[index]
        guard !route.rule.levels.values.contains(where: \.readsPayload) else { return [] }
        var topic = topic
        if let domain = route.domain {
            topic.domain = try domain.render("domain", topic: topic, item: "", payload: nil).lowercased()
        }
        var readings = AdapterReadings()
        route.adapter.readEmpty(on: topic, into: &readings)
        return try place(readings.all, topic, route.rule, dataset: dataset, payload: nil)
    }

    /// Gives the readings that are wanted their live topics.
    private func place(
        _ readings: [AdapterReadings.Reading], _ topic: AdapterTopic, _ rule: AdapterRule, dataset: String, payload: JSONNode?
    ) throws(WireError) -> [AdaptedMessage.Update] {
        var updates: [AdaptedMessage.Update] = []
        let isOpen = topic.domain != ""
        for reading in readings {
            if !isOpen, let wanted = rule.levels["domain"], wanted.text.lowercased() != reading.domain { continue }
            func level(_ name: String) throws(WireError) -> String {
                try rule.levels[name]?.render(name, topic: topic, item: reading.item, payload: payload) ?? ""
            }
            let keepsItem = reading.keepsItem || rule.levels["location"] == nil
            let live = LiveTopic(
                dataset: dataset, venue: try level("venue"), building: try level("building"), floor: try level("floor"),
                room: try level("room"), location: keepsItem ? reading.item : try level("location"), domain: reading.domain)
            updates.append(AdaptedMessage.Update(topic: try Self.checked(live), payload: reading.payload))
        }
        return updates
    }

    /// What a payload names may be longer than an id, or nothing.
    private static func checked(_ topic: LiveTopic) throws(WireError) -> LiveTopic {
        do throws(LiveTopicError) {
            return try LiveTopic(encoded: topic.encoded)
        } catch {
            throw WireError(.invalid, error.message, field: error.field)
        }
    }

    private static let gzip: [UInt8] = [0x1F, 0x8B]
}
