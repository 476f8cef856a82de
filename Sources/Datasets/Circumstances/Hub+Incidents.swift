import Circumstances
import LiveTopics
import Places
import Wire
import Records

// A circumstance occurred, or a region of beacons was entered or left: numbered, durable, then delivered like a match.

extension Hub {
    func send(_ occurrence: Occurrence, of device: Device, in dataset: Dataset, _ turn: inout Turn) {
        guard let circumstance = dataset.circumstances.circumstance(occurrence.circumstance) else { return }
        let record = circumstance.record
        let id = turn.identifiers.uuid()
        var body = encode(occurrence, id: id, circumstance, device, in: dataset)
        if body.count > Self.incidentBytesMax {
            let failure = WireError(
                .limit,
                "the message would have \(body.count) bytes, more than \(Self.incidentBytesMax): register it without `debug`, or shorter",
                field: "debug")
            body = encode(failure, occurrence, id: id, record, device)
        }
        send(
            IncidentRecord(
                number: matchNumber + 1, dataset: dataset.id, id: id, source: .circumstance, sourceID: record.id,
                owner: record.owner, createdAt: occurrence.timestamp, body: body), in: dataset, &turn)
    }

    /// - Parameter record: With the next number.
    func send(_ record: IncidentRecord, in dataset: Dataset, _ turn: inout Turn) {
        matchNumber = record.number
        let parcel = parcel(of: record, in: dataset)
        guard outbox.waiting(of: parcel.client) < configuration.limits.pendingMatchesPerClient else {
            tellLoss(
                MatchFate.dropped.rawValue, parcel.recipient,
                "the incident \(record.id) is lost: \(configuration.limits.pendingMatchesPerClient) messages of the client wait for delivery, the maximum",
                of: dataset, &turn)
            return
        }
        turn.keep(.put(record))
        outbox.append(parcel)
    }

    /// One that the store gives back is still owed.
    func restore(_ record: IncidentRecord) {
        matchNumber = max(matchNumber, record.number)
        guard outbox.parcels[record.number] == nil, let dataset = datasets[record.dataset] else { return }
        outbox.append(parcel(of: record, in: dataset))
    }

    private func parcel(of record: IncidentRecord, in dataset: Dataset) -> Parcel {
        let kind: Recipient.Kind =
            switch record.source {
            case .circumstance: .circumstance
            case .beacon: .beacon
            }
        return Parcel(
            number: record.number, dataset: dataset, subscription: nil, id: record.id, createdAt: record.createdAt,
            body: record.body, recipient: Recipient(dataset.id, record.owner, kind, record.sourceID), pushers: [],
            isIncident: true)
    }

    // MARK: The message

    /// The trace of an expression repeats its parts at each level, up to a megabyte.
    private static let incidentBytesMax = 256 * 1024

    /// Of an occurrence that cannot be told as a whole:
    /// `{"incidentId","circumstanceId","name","tags","when","deviceId","timestamp","error":{"code","error","message","field"?}}`
    private func encode(
        _ failure: WireError, _ occurrence: Occurrence, id: String, _ record: CircumstanceRecord, _ device: Device
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        encodeHead(of: occurrence, id: id, record, device, into: &writer)
        writer.member("timestamp", occurrence.timestamp)
        writer.key("error")
        failure.encode(into: &writer)
        writer.endObject()
        return writer.bytes
    }

    private func encodeHead(
        of occurrence: Occurrence, id: String, _ record: CircumstanceRecord, _ device: Device, into writer: inout JSONWriter
    ) {
        writer.member("incidentId", id)
        writer.member("circumstanceId", record.id)
        writer.member("name", orNull: record.name)
        writer.member("tags", record.tags)
        writer.member("when", occurrence.trigger.rawValue)
        writer.member("deviceId", device.record.id)
    }

    /// `{"incidentId","circumstanceId","name","tags","when","deviceId","atPlaces","nearPlaces","location","timestamp","trace"?}`
    private func encode(
        _ occurrence: Occurrence, id: String, _ circumstance: Circumstance, _ device: Device, in dataset: Dataset
    ) -> [UInt8] {
        let record = circumstance.record
        var writer = JSONWriter()
        writer.beginObject()
        encodeHead(of: occurrence, id: id, record, device, into: &writer)
        encode(occurrence.atPlaces, "atPlaces", in: dataset, into: &writer)
        encode(occurrence.nearPlaces, "nearPlaces", in: dataset, into: &writer)
        writer.key("location")
        writer.beginObject()
        writer.member("latitude", occurrence.fix.latitude)
        writer.member("longitude", occurrence.fix.longitude)
        writer.member("horizontalAccuracy", optional: occurrence.fix.accuracy)
        writer.member("speed", optional: occurrence.fix.speed)
        writer.member("timestamp", occurrence.fix.timestamp)
        writer.endObject()
        writer.member("timestamp", occurrence.timestamp)
        if record.debug {
            encode(
                dataset.circumstances.engine.trace(
                    circumstance.reference, for: device.reference.index, at: occurrence.timestamp, in: world(of: dataset)),
                into: &writer)
        }
        writer.endObject()
        return writer.bytes
    }

    /// Places as messages and replies show them: `{"id","name"?,"categoryIds","chainId"?,"distance","latitude","longitude"}`.
    func encode(_ places: [NearbyPlace], _ key: String, in dataset: Dataset, into writer: inout JSONWriter) {
        let table = dataset.places.table
        writer.key(key)
        writer.beginArray()
        for near in places where table.contains(near.place) {
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
