import Matching
import Selectors
import Wire
import Records

// match/explain

extension Geomatching {
    /// Says of each rule of matching whether a pair passes it now, and why. Changes nothing.
    ///
    /// - Throws: `notFound` where one of the two neither lives nor ended within a day, `forbidden` where the subscription is
    ///   another client's.
    func explain(_ call: Call) throws(WireError) -> [UInt8] {
        let publicationID = try call.parameters.id("publicationId")
        let subscriptionID = try call.parameters.id("subscriptionId")
        guard let subscription = subscription(subscriptionID, of: call) else {
            throw call.absent("subscription", subscriptionID, Self.remembered, of: subscriptions.keys, field: "subscriptionId") {
                self.subscriptions[$0]?.record.owner
            }
        }
        try call.checkOwner(subscription.record.owner, of: "subscription", subscriptionID, field: "subscriptionId")
        guard let publication = publication(publicationID, of: call) else {
            throw call.absent("publication", publicationID, Self.remembered, of: publications.keys, field: "publicationId") {
                self.publications[$0]?.record.owner
            }
        }
        let here = device(of: publication.record.deviceId, publication.record.owner, publication.life)
        let there = device(of: subscription.record.deviceId, subscription.record.owner, subscription.life)
        var pair = ExplainedPair(
            publication: publication.record, publicationLife: publication.life,
            publicationPlace: place(of: here, call), subscription: subscription.record, subscriptionLife: subscription.life,
            subscriptionPlace: place(of: there, call), memory: .nothing, now: call.now,
            isOwn: call.client.reaches(owner: publication.record.owner))
        if let here, let there {
            pair.isOfBeacon = here.record.type == .beacon || there.record.type == .beacon
            pair.sighting = engine.sighting(here.reference, there.reference)
        }
        if let p = publications[publicationID], let s = subscriptions[subscriptionID] {
            pair.memory = engine.memory(of: s.reference, p.reference, at: call.now)
        }
        return pair.explain().encoded()
    }

    private static let remembered = ", nor is one remembered that ended within the last 24 hours (none is known after a restart)"

    private func publication(_ id: String, of call: Call) -> (record: PublicationRecord, life: ExplainedPair.Life)? {
        if let living = publications[id] {
            return (living.record, Self.life(until: living.expiresAt, at: call.now))
        }
        return ended.publications[id].map { entry in
            (entry.record, Self.life(endedAt: entry.at, entry.record.createdAt, duration: entry.record.duration))
        }
    }

    private func subscription(_ id: String, of call: Call) -> (record: SubscriptionRecord, life: ExplainedPair.Life)? {
        if let living = subscriptions[id] {
            return (living.record, Self.life(until: living.expiresAt, at: call.now))
        }
        return ended.subscriptions[id].map { entry in
            (entry.record, Self.life(endedAt: entry.at, entry.record.createdAt, duration: entry.record.duration))
        }
    }

    /// Something whose time is over has ended, also before its timer says so.
    private static func life(until expiresAt: Int64, at now: Int64) -> ExplainedPair.Life {
        now < expiresAt ? .alive(until: expiresAt) : .expired(at: expiresAt)
    }

    private static func life(endedAt: Int64, _ createdAt: Int64, duration: Double) -> ExplainedPair.Life {
        if duration == 0, endedAt == createdAt { return .comparedOnce(at: createdAt) }
        let expiresAt = deadline(from: createdAt, duration: duration)
        return endedAt < expiresAt ? .deleted(at: endedAt) : .expired(at: expiresAt)
    }

    /// The device of a publication or a subscription. Where that ended with its device, the id may be another client's by now.
    private func device(of id: String, _ owner: String?, _ life: ExplainedPair.Life) -> Device? {
        guard let device = devices[id], life.isAlive || devices.reaches(device, by: owner) else { return nil }
        return device
    }

    private func place(of device: Device?, _ call: Call) -> ExplainedPair.Place {
        guard let device else {
            return ExplainedPair.Place(hasDevice: false, position: nil, floor: .unknown)
        }
        return ExplainedPair.Place(
            hasDevice: true, position: engine.position(of: device.reference),
            floor: engine.floor(of: device.reference),
            isShown: !devices.hides(device, from: call.client.name))
    }
}

extension PublicationRecord {
    var decodedProperties: Properties {
        get throws(WireError) { try PropertiesCoding.decode(text: properties) }
    }

    /// About what it takes in memory.
    var footprint: Int { 256 + id.utf8.count + deviceId.utf8.count + topic.utf8.count + properties.utf8.count }
}

extension SubscriptionRecord {
    /// About what it takes in memory.
    var footprint: Int {
        let texts = pushers + hints + [id, deviceId, topic, selector]
        return 512 + texts.reduce(0) { $0 + $1.utf8.count + 16 }
    }
}
