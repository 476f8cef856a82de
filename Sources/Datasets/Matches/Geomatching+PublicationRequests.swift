import Matching
import Selectors
import Wire
import Records

// publication/create · get · list · update · delete

extension Geomatching {
    func createPublication(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let device = try call.device()
        let id = try call.parameters.optionalID("id")
        let topic = try call.parameters.string("topic", bytes: 1...256)
        let range = try call.parameters.range("range")
        let duration = try call.parameters.duration("duration")
        let properties = try call.parameters.properties("properties")
        if let id, livePublication(id, at: call.now) != nil {
            throw WireError(.conflict, "the publication `\(id)` exists", field: "id")
        }
        guard duration == 0 || publications(of: device).count < shared.limits.attachmentsPerDevice
        else {
            throw WireError(
                .limit, "the device has \(shared.limits.attachmentsPerDevice) publications, the maximum", field: "deviceId"
            )
        }
        var record = PublicationRecord(
            dataset: dataset, id: id ?? turn.newID(), deviceId: device.record.id, topic: topic, range: range,
            duration: duration, properties: String(decoding: PropertiesCoding.encode(properties), as: UTF8.self),
            owner: call.owner, createdAt: call.createdAt, updatedAt: call.updatedAt, revision: "")
        record.revision = call.revision(after: nil, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        add(record, properties, on: device, &turn)
        return record.encoded()
    }

    func getPublication(_ call: Call) throws(WireError) -> [UInt8] {
        try publication(call).record.encoded()
    }

    func listPublications(_ call: Call) throws(WireError) -> [UInt8] {
        let device = try call.device()
        let page = try Page(call.parameters)
        let visible = publications(of: device).filter {
            $0.expiresAt > call.now && call.client.reaches(owner: $0.record.owner)
        }
        return page.encode("publications", sorting: visible, id: \.record.id, item: { $0.record.encoded() })
    }

    func updatePublication(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let publication = try publication(call)
        var record = publication.record
        try call.parameters.checkRevision(record.revision)
        try call.parameters.refuse("deviceId", "a publication stays on its device")
        if call.parameters.has("topic") { record.topic = try call.parameters.string("topic", bytes: 1...256) }
        if call.parameters.has("range") { record.range = try call.parameters.range("range") }
        if call.parameters.has("duration") { record.duration = try call.parameters.duration("duration") }
        let properties =
            try call.parameters.has("properties")
            ? call.parameters.properties("properties") : PropertiesCoding.decode(text: record.properties)
        record.properties = String(decoding: PropertiesCoding.encode(properties), as: UTF8.self)
        record.createdAt = call.stamp?.createdAt == nil ? record.createdAt : call.createdAt
        record.updatedAt = call.updatedAt
        record.revision = call.revision(after: record.revision, content: record.encoded())
        if call.endsBeforeEffects { return record.encoded() }
        update(publication, to: record, properties, &turn)
        return record.encoded()
    }

    func deletePublication(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let publication = try publication(call)
        try call.parameters.checkRevision(publication.record.revision)
        delete(publication, &turn)
        return deleted(publication.record.id)
    }

    private func publication(_ call: Call) throws(WireError) -> Publication {
        let id = try call.parameters.id("id")
        guard let publication = livePublication(id, at: call.now) else {
            throw call.absent("publication", id, of: publications.keys) { self.publications[$0]?.record.owner }
        }
        try call.checkOwner(publication.record.owner, of: "publication", id)
        return publication
    }

    /// A publication whose time is over is gone, also before its timer says so.
    private func livePublication(_ id: String, at now: Int64) -> Publication? {
        publications[id].flatMap { $0.expiresAt > now ? $0 : nil }
    }
}
