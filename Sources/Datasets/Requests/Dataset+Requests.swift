import LiveTopics
import OpeningHours
import Wire
import Records

// dataset/get · update · delete · watch

extension Dataset {
    /// With how many of what it counts it may hold.
    func get(_ call: Call) throws(WireError) -> [UInt8] {
        let limits = shared.configuration.limits
        return JSONWriter.object { writer in
            encodeMembers(into: &writer)
            writer.key("limits")
            writer.beginObject()
            writer.member("devices", limits.devices)
            writer.member("liveTopics", limits.liveTopics)
            writer.member("places", limits.places)
            writer.member("categories", limits.categories)
            writer.endObject()
        }
    }

    func update(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        var record = self.record
        try call.parameters.checkRevision(record.revision)
        try record.apply(call.parameters, shared.configuration)
        record.updatedAt = call.now
        record.revision = Revision.next(after: record.revision, content: record.encoded())
        let former = self.record
        self.record = record
        if record.timeZone != former.timeZone { circumstances.worldChanged() }
        if record.livePositions != former.livePositions {
            turn.effects.sequels.append(.livePositions(record.livePositions, dataset: id))
        }
        turn.keep(.put(record))
        return description
    }

    func delete(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        try call.parameters.checkRevision(record.revision)
        turn.keep(.deleteDataset(id: id, at: call.now))
        // Live states that somebody keeps are cleared at leisure, and after a crash, too.
        for state in shared.liveStates.all where state.dataset === self && state.payload != nil {
            turn.keep(.put(LiveStateRecord.remnant(of: state)))
        }
        // Until that is durable, what comes in for it waits.
        suspension = .deletion
        turn.effects.sequels.append(.deletion(dataset: id))
        return deleted(id)
    }

    // match/watch · circumstance/watch · dataset/watch: the door streams to the socket that asks.

    /// Messages of all clients of the dataset, for administrators.
    func watchAll(_ call: Call) throws(WireError) -> [UInt8] {
        guard call.isOpen else {
            throw WireError(
                .unsupported,
                "this request streams to a WebSocket: send it on /api/\(id)/socket; over MQTT subscribe to the topics",
                field: "request")
        }
        return JSONWriter.object { $0.member("watching", true) }
    }

    /// What everybody may hear of a dataset: its counters and diagnostics, which name live topics.
    func watchDataset(_ call: Call) throws(WireError) -> [UInt8] {
        try call.checkReader()
        return try watchAll(call)
    }

    // MARK: Parts

    /// The dataset with its active domains and counts.
    var description: [UInt8] { JSONWriter.object { encodeMembers(into: &$0) } }

    private func encodeMembers(into writer: inout JSONWriter) {
        record.encodeMembers(into: &writer)
        DatasetContents(of: self).encodeMembers(into: &writer)
    }
}

/// What a dataset holds.
struct DatasetContents: Equatable {
    /// By kind.
    private var counts: [Int]
    private var domainCount: Int
    private var domains: [String]

    private static let kinds =
        ["devices", "publications", "subscriptions", "liveTopics", "places", "circumstances", "geofences", "categories"]
        + StructureLevel.allCases.map { "\($0.rawValue)s" }
    // A free domain is a topic level: there may be as many as live topics.
    private static let domainsShown = 1000
    /// Beyond, those elsewhere in the cluster see domains that were active before.
    private static let domainsWatched = 10_000
    /// Beyond, they see other domains only once there are more or fewer.
    private static let domainsCompared = 1000

    init(of dataset: Dataset) {
        counts = Self.counts(of: dataset)
        domainCount = dataset.activeDomains.count
        domains = Array(dataset.activeDomains.keys.sorted().prefix(Self.domainsShown))
    }

    /// The same by now; nil where nothing changed.
    func changed(in dataset: Dataset) -> DatasetContents? {
        let counts = Self.counts(of: dataset)
        guard counts != self.counts || dataset.activeDomains.count != domainCount || hasOtherDomains(dataset) else { return nil }
        guard dataset.activeDomains.count > Self.domainsWatched else { return DatasetContents(of: dataset) }
        var changed = self
        (changed.counts, changed.domainCount) = (counts, dataset.activeDomains.count)
        return changed
    }

    private func hasOtherDomains(_ dataset: Dataset) -> Bool {
        domainCount <= Self.domainsCompared && !domains.allSatisfy { dataset.activeDomains[$0] != nil }
    }

    private static func counts(of dataset: Dataset) -> [Int] {
        [
            dataset.devices.count, dataset.geomatching.publications.count, dataset.geomatching.subscriptions.count,
            dataset.liveTopicCount, dataset.places.table.count, dataset.circumstances.count, dataset.geofences.count,
            dataset.places.table.categories.count,
        ] + StructureLevel.allCases.map { dataset.structure.tree.count(of: $0) }
    }

    func encodeMembers(into writer: inout JSONWriter) {
        writer.member("activeDomains", domains)
        writer.key("counts")
        writer.beginObject()
        for (kind, count) in zip(Self.kinds, counts) { writer.member(kind, count) }
        writer.endObject()
    }
}

extension Dataset {
    /// Those elsewhere in the cluster learn what it holds, where that changed.
    func shareContents() {
        guard let note = shared.configuration.noteContents else { return }
        guard let contents = sharedContents.map({ $0.changed(in: self) }) ?? DatasetContents(of: self) else { return }
        sharedContents = contents
        note(id, JSONWriter.object { contents.encodeMembers(into: &$0) })
    }
}

extension DatasetRecord {
    /// Changes what a request names.
    mutating func apply(_ parameters: Parameters, _ configuration: HubConfiguration) throws(WireError) {
        if parameters.has("name") { name = try parameters.optionalString("name", characters: 0...256) }
        if parameters.has("policy") { policy = try parameters.optionalWord("policy", of: ["open", "strict"]) ?? "open" }
        if parameters.has("domains") {
            domains = try parameters.domains("domains")
        }
        if parameters.has("autoCreateDevices") {
            autoCreateDevices = try parameters.optionalBool("autoCreateDevices") ?? true
        }
        if parameters.has("derivedOccupancy") {
            derivedOccupancy = try parameters.optionalBool("derivedOccupancy") ?? false
        }
        if parameters.has("timeZone") {
            let zone = try parameters.timeZone("timeZone") ?? "UTC"
            guard Zone.named(zone) != nil else {
                throw parameters.error("timeZone", "must be the name of an IANA time zone", not: .string(zone))
            }
            timeZone = zone
        }
        if parameters.has("livePositions") { livePositions = try parameters.optionalChoice("livePositions") ?? .all }
    }
}
