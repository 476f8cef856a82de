import Circumstances
import Places
import Records
import Wire

// A circumstance occurred: the event that is sent.

extension CircumstanceBook {
    /// Its number is given when it is sent.
    func event(_ occurrence: CircumstanceEvent, of circumstance: Circumstance, _ device: Device, _ turn: inout Turn)
        -> EventRecord
    {
        let record = circumstance.record
        let id = turn.newID()
        var body = encode(occurrence, id: id, circumstance, device)
        if body.count > Self.eventBytesMax {
            let failure = WireError(
                .limit,
                "the message would have \(body.count) bytes, more than \(Self.eventBytesMax): register it without `debug`, or shorter",
                field: "debug")
            body = encode(failure, occurrence, id: id, record, device)
        }
        return EventRecord(
            number: 0, dataset: dataset, id: id, source: .circumstance, sourceID: record.id, owner: record.owner,
            createdAt: occurrence.timestamp, body: body)
    }

    /// Has an event delivered.
    func send(_ event: EventRecord, of circumstance: Circumstance, _ device: Device, _ turn: inout Turn) {
        let record = circumstance.record
        let isOwn = device.record.owner.map { $0.hasSameBytes(as: record.owner) } ?? true
        shared.outbox.send(
            event, to: Targets(circumstance.pushers, about: isOwn ? device.record : nil),
            saying: {
                PushMessage(
                    [
                        ("circumstanceId", record.id), ("incidentId", event.id), ("deviceId", device.record.id),
                        ("event", "occurred"),
                    ], record.notification, device: device.record)
            }, account, &turn)
    }

    // MARK: The message

    /// The trace of an expression repeats its parts at each level, up to a megabyte.
    private static let eventBytesMax = 256 * 1024

    /// Of an occurrence that cannot be sent as a whole:
    /// `{"incidentId","circumstanceId","name","tags","when","deviceId","timestamp","error":{"code","error","message","field"?}}`
    private func encode(
        _ failure: WireError, _ occurrence: CircumstanceEvent, id: String, _ record: CircumstanceRecord, _ device: Device
    ) -> [UInt8] {
        JSONWriter.object { writer in
            encodeHead(of: occurrence, id: id, record, device, into: &writer)
            writer.member("timestamp", occurrence.timestamp)
            writer.key("error")
            failure.encode(into: &writer)
        }
    }

    private func encodeHead(
        of occurrence: CircumstanceEvent, id: String, _ record: CircumstanceRecord, _ device: Device,
        into writer: inout JSONWriter
    ) {
        writer.member("incidentId", id)
        writer.member("circumstanceId", record.id)
        writer.member("name", orNull: record.name)
        writer.member("tags", record.tags)
        writer.member("when", occurrence.trigger.rawValue)
        writer.member("deviceId", device.record.id)
    }

    /// `{"incidentId","circumstanceId","name","tags","when","deviceId","atPlaces","nearPlaces","location"?,"timestamp","trace"?}`
    private func encode(
        _ occurrence: CircumstanceEvent, id: String, _ circumstance: Circumstance, _ device: Device
    ) -> [UInt8] {
        let record = circumstance.record
        return JSONWriter.object { writer in
            encodeHead(of: occurrence, id: id, record, device, into: &writer)
            encode(occurrence.atPlaces, "atPlaces", into: &writer)
            encode(occurrence.nearPlaces, "nearPlaces", into: &writer)
            if devices.mayLocate(device, by: record.owner) { encode(occurrence.fix, into: &writer) }
            writer.member("timestamp", occurrence.timestamp)
            if record.debug {
                encode(
                    engine.trace(circumstance.reference, for: device.reference.index, at: occurrence.timestamp, in: world),
                    into: &writer)
            }
        }
    }

    private func encode(_ fix: Fix, into writer: inout JSONWriter) {
        writer.key("location")
        writer.beginObject()
        writer.member("latitude", fix.latitude)
        writer.member("longitude", fix.longitude)
        writer.member("horizontalAccuracy", optional: fix.accuracy)
        writer.member("speed", optional: fix.speed)
        writer.member("timestamp", fix.timestamp)
        writer.endObject()
    }

    /// Places as messages and replies show them: `{"id","name"?,"categoryIds","chainId"?,"distance","latitude","longitude"}`.
    func encode(_ nearby: [NearbyPlace], _ key: String, into writer: inout JSONWriter) {
        let table = places.table
        writer.key(key)
        writer.beginArray()
        for near in nearby where table.contains(near.place) {
            let point = table.point(of: near.place)
            writer.beginObject()
            writer.member("id", table.id(near.place))
            writer.member("name", optional: table.name(near.place))
            writer.member("categoryIds", table.categoryIDs(near.place))
            writer.member("chainId", optional: table.chainID(near.place))
            // To the millimetre.
            writer.member("distance", (near.distance * 1000).rounded() / 1000)
            writer.member("latitude", point.latitude)
            writer.member("longitude", point.longitude)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Each part of the expression with its value, the whole first: `[{"expression","value","depth"}]`.
    func encode(_ trace: [TraceLine], into writer: inout JSONWriter) {
        writer.key("trace")
        writer.beginArray()
        for line in trace {
            writer.beginObject()
            writer.member("expression", line.expression)
            writer.key("value")
            writer.truth(line.value)
            writer.member("depth", line.depth)
            writer.endObject()
        }
        writer.endArray()
    }
}
