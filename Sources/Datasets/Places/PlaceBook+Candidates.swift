import Geodesy
import Glibc
import Matching
import Places
import Wire
import Records

// place/candidates

extension PlaceBook {
    /// At which places a device, or a position, may be: the most probable first.
    func candidates(_ call: Call) throws(WireError) -> [UInt8] {
        let activities = try call.parameters.optionalBool("activities") ?? false
        let asked = try candidatePosition(call)
        let found = table.candidates(
            latitude: asked.position.latitude, longitude: asked.position.longitude,
            accuracy: asked.position.horizontalAccuracy, stayed: asked.stayed
        ) { evidence(of: $0, at: call.now) }
        if let device = asked.device {
            noteCandidates(found.candidates.map { table.id($0.handle) }, of: device.record.id)
        }
        return JSONWriter.object { writer in
            writer.member("latitude", asked.position.latitude)
            writer.member("longitude", asked.position.longitude)
            writer.key("candidates")
            writer.beginArray()
            if activities, let speed = asked.speed { Activity(metresPerSecond: speed).encode(into: &writer) }
            for candidate in found.candidates { encode(candidate, of: table, into: &writer) }
            writer.endArray()
        }
    }

    private struct CandidatePosition {
        var position: Position
        var device: Device?
        /// Metres per second.
        var speed: Double?
        /// Seconds.
        var stayed = 0.0
    }

    /// A device with a known position is there now: its stay goes on or begins.
    func note(_ position: Position, of device: Device, at instant: Int64) {
        guard let known = device.stay else {
            device.stay = DeviceStay(Stay(position, at: instant))
            return
        }
        known.stay.take(position, at: instant)
    }

    private func candidatePosition(_ call: Call) throws(WireError) -> CandidatePosition {
        let parameters = call.parameters
        guard parameters.value("deviceId") != nil else {
            return CandidatePosition(
                position: Position(
                    latitude: try parameters.number("latitude", in: -90...90, unit: "degrees"),
                    longitude: try parameters.number("longitude", in: -180...180, unit: "degrees"),
                    horizontalAccuracy: try parameters.optionalNumber("horizontalAccuracy", in: 0..., unit: "metres")))
        }
        for field in ["latitude", "longitude", "horizontalAccuracy"] where parameters.value(field) != nil {
            throw WireError(.invalid, "`\(field)` is of a position, not of a device: leave it or `deviceId` out", field: field)
        }
        let device = try call.device()
        guard call.mayLocate(device) else {
            throw WireError(.forbidden, "where `\(device.record.id)` is, is not for `\(call.client.name)`", field: "deviceId")
        }
        guard let position = call.dataset.geomatching.engine.position(of: device.reference) else {
            throw WireError(.notFound, "the device `\(device.record.id)` has no known position", field: "deviceId")
        }
        let speed = device.positionTopic?.payload.flatMap {
            LiveMessage.update(inPayload: $0, using: call.dataset.shared.parser)?.speed
        }
        guard let stay = device.stay?.stay, let seconds = stay.seconds else {
            return CandidatePosition(position: position, device: device, speed: speed)
        }
        return CandidatePosition(
            position: Position(latitude: stay.latitude, longitude: stay.longitude, horizontalAccuracy: stay.accuracy),
            device: device, speed: speed, stayed: seconds)
    }

    private func encode(_ candidate: PlaceCandidates.Candidate, of table: PlaceTable, into writer: inout JSONWriter) {
        let handle = candidate.handle
        let point = table.point(of: handle)
        writer.beginObject()
        writer.member("place_id", table.id(handle))
        writer.member("name", orNull: table.name(handle))
        writer.member("chain_id", optional: table.chainID(handle))
        writer.member("place_category_ids", table.categoryIDs(handle))
        writer.member("placerank", orNull: table.placerank(handle))
        if let isOpen = candidate.isOpen { writer.member("is_open", isOpen) }
        // To the millimetre.
        writer.member("distance", (candidate.hit.distance * 1000).rounded() / 1000)
        writer.member("distance_to", table.isPolygon(handle) ? "polygon" : "point")
        writer.member("latitude", point.latitude)
        writer.member("longitude", point.longitude)
        writer.member("threshold_met", candidate.threshold.rawValue)
        writer.member("probability", (candidate.probability * 1e6).rounded() / 1e6)
        writer.endObject()
    }
}

/// What somebody of a known speed does, and how sure that is.
///
/// Three curves over the speed cross at 0.5 m/s, where standing becomes a stroll, and at 3.5 m/s, where hardly anybody walks.
struct Activity: Equatable {
    var name: String
    /// 0…1.
    var confidence: Double

    init(metresPerSecond speed: Double) {
        let stationary = 1 / (1 + exp((speed - 0.5) / 0.15))
        let driving = 1 / (1 + exp((3.5 - speed) / 0.7))
        let walking = max(0, 1 - stationary - driving)
        let all = [("stationary", stationary), ("walking", walking), ("driving", driving)]
        let best = all.max { $0.1 < $1.1 } ?? all[0]
        (name, confidence) = best
    }

    func encode(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("confidence", (confidence * 1000).rounded() / 1000)
        writer.endObject()
    }
}
