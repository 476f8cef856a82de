import LiveTopics
import Ranging
import Records
import Wire

// Sightings survive a restart as live state does: with what the readings came to, and for as long as a fact lives.

extension Beacons {
    /// Takes back what a live message reports. Nothing is sent, and nothing is evaluated before the next sighting.
    ///
    /// - Returns: What devices saw.
    func restore(_ state: LiveState, at now: Int64) -> [DeviceSighting] {
        guard let payload = state.payload, let message = (try? JSONValue.parse(payload, using: parser))?.asObject,
            let beacons = message["properties"]?.asObject?["beacons"]?.asArray
        else { return [] }
        let observer = observer(of: state)
        if let known = observer.state, known !== state, known.number > state.number { return [] }
        observer.state = state
        let restored = beacons.prefix(limits.beaconsPerObserver).compactMap { beacon in
            beacon.asObject.flatMap(ReportedBeacon.init).flatMap {
                restore($0, receivedAt: state.receivedAt, by: observer, at: max(now, state.receivedAt))
            }
        }
        // What was over meanwhile is no longer to be shown.
        if table.count(of: observer.number) < beacons.count { note(observer) }
        return restored
    }

    private func restore(
        _ beacon: ReportedBeacon, receivedAt: Int64, by observer: Observer, at now: Int64
    ) -> DeviceSighting? {
        let number = number(of: beacon.key)
        let fact = ProximityTable.Fact(
            observer: observer.number, beacon: number, distance: beacon.distance, band: beacon.band, rssi: beacon.rssi,
            seenAt: receivedAt - beacon.age)
        restorePresence(beacon.key, observer, seenAt: fact.seenAt, silence: beacon.age)
        guard table.restore(fact, settings(of: observer), at: now) else {
            releaseIfUnseen(number)
            return nil
        }
        return sighting(fact)
    }
}

/// One of the beacons of a live message.
private struct ReportedBeacon {
    var key: BeaconKey
    var distance: Double?
    var band: ProximityBand
    var rssi: Double?
    /// Milliseconds.
    var age: Int64

    /// nil where the daemon cannot have written it.
    init?(_ object: JSONObject) {
        guard let uuid = object["proximityUUID"]?.asString, let major = object["major"]?.asInt64,
            let minor = object["minor"]?.asInt64,
            let key = BeaconIdentity(proximityUUID: uuid, major: Int(clamping: major), minor: Int(clamping: minor)).key,
            let age = object["age"]?.asDouble, (0...86_400).contains(age)
        else { return nil }
        self.key = key
        self.age = Int64(age * 1000)
        distance = object["distance"]?.asDouble.flatMap { (0...PathLoss.distances.upperBound).contains($0) ? $0 : nil }
        band = object["proximity"]?.asString.flatMap(ProximityBand.init) ?? .unknown
        rssi = object["rssi"]?.asDouble
    }
}
