import LiveTopics
import Wire
import Records

// dataset/create · get · list · update · delete

extension Hub {
    func createDataset(
        _ parameters: Parameters, _ context: ReplyContext, _ turn: inout Turn
    ) throws(WireError) -> [UInt8] {
        guard Name.isDataset(context.dataset) else {
            throw WireError(
                .invalid, "a dataset's name has 1 to 64 of A-Z a-z 0-9 . _ - and is not `live` or `geomatch`", field: "dataset")
        }
        guard datasets[context.dataset] == nil else {
            throw WireError(.conflict, "the dataset `\(context.dataset)` exists")
        }
        var record = DatasetRecord(id: context.dataset, createdAt: turn.now, updatedAt: turn.now, revision: "")
        try apply(parameters, to: &record)
        let dataset = try createDataset(record, &turn)
        dataset.requestCounters.received += 1
        return describe(dataset)
    }

    func getDataset(_ call: Call) throws(WireError) -> [UInt8] { describe(call.dataset) }

    func updateDataset(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let dataset = call.dataset
        var record = dataset.record
        try call.parameters.checkRevision(record.revision)
        try apply(call.parameters, to: &record)
        record.updatedAt = call.now
        record.revision = Revision.next(after: record.revision, content: record.encoded())
        let former = dataset.record
        dataset.record = record
        if record.timeZone != former.timeZone { dataset.circumstances.worldChanged() }
        if record.livePositions != former.livePositions {
            turn.effects.sequels.append(.livePositions(record.livePositions, dataset: dataset.id))
        }
        turn.keep(.put(record))
        return describe(dataset)
    }

    func listDatasets(_ parameters: Parameters, _ client: RequestingClient) throws(WireError) -> [UInt8] {
        let page = try Page(parameters)
        let visible = datasets.keys.filter { administers($0, client) }
        return page.encode("datasets", sorting: visible, id: { $0 }, item: { id in datasets[id].map(describe) })
    }

    func deleteDataset(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        try call.parameters.checkRevision(call.dataset.record.revision)
        turn.keep(.deleteDataset(id: call.dataset.id, at: call.now))
        // Live states that somebody keeps are cleared at leisure, and after a crash, too.
        for state in liveStates.all where state.dataset === call.dataset && state.payload != nil {
            turn.keep(.put(LiveStateRecord.remnant(of: state)))
        }
        // Until that is durable, what comes in for it waits.
        call.dataset.suspension = .deletion
        turn.effects.sequels.append(.deletion(dataset: call.dataset.id))
        return deleted(call.dataset.id)
    }

    private func apply(_ parameters: Parameters, to record: inout DatasetRecord) throws(WireError) {
        if parameters.has("name") { record.name = try parameters.optionalString("name", characters: 0...256) }
        if parameters.has("policy") { record.policy = try parameters.optionalWord("policy", of: ["open", "strict"]) ?? "open" }
        if parameters.has("domains") {
            record.domains = try parameters.domains("domains")
        }
        if parameters.has("autoCreateDevices") {
            record.autoCreateDevices = try parameters.optionalBool("autoCreateDevices") ?? true
        }
        if parameters.has("derivedOccupancy") {
            record.derivedOccupancy = try parameters.optionalBool("derivedOccupancy") ?? false
        }
        if parameters.has("timeZone") {
            let zone = try parameters.timeZone("timeZone") ?? "UTC"
            guard configuration.isTimeZone(zone) else {
                throw parameters.error("timeZone", "must be the name of an IANA time zone", not: .string(zone))
            }
            record.timeZone = zone
        }
        if parameters.has("livePositions") { record.livePositions = try parameters.optionalChoice("livePositions") ?? .all }
    }

    private static let activeDomainsShown = 1000

    /// The dataset with its active domains and counts.
    func describe(_ dataset: Dataset) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        dataset.record.encodeMembers(into: &writer)
        // A free domain is a topic level: there may be as many as live topics.
        writer.member("activeDomains", Array(dataset.activeDomains.keys.sorted().prefix(Self.activeDomainsShown)))
        writer.key("counts")
        writer.beginObject()
        writer.member("devices", dataset.devices.count)
        writer.member("publications", dataset.geomatching.publications.count)
        writer.member("subscriptions", dataset.geomatching.subscriptions.count)
        writer.member("liveTopics", dataset.liveTopicCount)
        writer.member("places", dataset.places.table.count)
        writer.member("circumstances", dataset.circumstances.count)
        writer.member("geofences", dataset.geofences.count)
        writer.member("categories", dataset.places.table.categories.count)
        for level in StructureLevel.allCases { writer.member("\(level.rawValue)s", dataset.structure.tree.count(of: level)) }
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }
}
