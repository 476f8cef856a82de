import LiveTopics
import Wire
import Records

// dataset/get · update · delete · watch

extension Dataset {
    func get(_ call: Call) throws(WireError) -> [UInt8] { description }

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

    private static let activeDomainsShown = 1000

    /// The dataset with its active domains and counts.
    var description: [UInt8] {
        JSONWriter.object { writer in
            record.encodeMembers(into: &writer)
            // A free domain is a topic level: there may be as many as live topics.
            writer.member("activeDomains", Array(activeDomains.keys.sorted().prefix(Self.activeDomainsShown)))
            writer.key("counts")
            writer.beginObject()
            writer.member("devices", devices.count)
            writer.member("publications", geomatching.publications.count)
            writer.member("subscriptions", geomatching.subscriptions.count)
            writer.member("liveTopics", liveTopicCount)
            writer.member("places", places.table.count)
            writer.member("circumstances", circumstances.count)
            writer.member("geofences", geofences.count)
            writer.member("categories", places.table.categories.count)
            for level in StructureLevel.allCases { writer.member("\(level.rawValue)s", structure.tree.count(of: level)) }
            writer.endObject()
        }
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
            guard configuration.isTimeZone(zone) else {
                throw parameters.error("timeZone", "must be the name of an IANA time zone", not: .string(zone))
            }
            timeZone = zone
        }
        if parameters.has("livePositions") { livePositions = try parameters.optionalChoice("livePositions") ?? .all }
    }
}
