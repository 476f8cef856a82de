public import Foundation
internal import LiveTopics
internal import Wire

/// One piece of live data, as geomatch accepted and normalised it.
public struct LiveUpdate: Sendable, Equatable {
    public var topic: LiveUpdateTopic
    /// What it is about: the `location` level, or the last level before it that applies. A device's id for positions.
    public var itemID: String
    /// When it was so, as the device says, else when it arrived.
    public var timestamp: Date
    /// When geomatch received it.
    public var receivedAt: Date
    /// Everything that was sent, in JSON types. ``value`` has the known ones with units.
    public var properties: [String: PropertyValue]
    /// The id in the system it came from.
    public var originSourceID: String?
    /// geomatch worked it out (occupancy from positions, a position from beacons).
    public var isDerived = false
    /// The object no longer is what the subscription asks for: it left the area, fails the condition, or was cleared. These
    /// are its last known properties; take it off your map.
    public var hasLeft = false
    /// The live subscription that let it through; nil in a snapshot that was asked for.
    public var subscriptionID: String?

    public var domain: LiveDomain { topic.domain }

    /// A property; nil where there is none.
    public subscript(key: String) -> PropertyValue? { properties[key] }
}

extension LiveUpdate {
    /// - Throws: `malformed` with the field that does not follow the contract.
    init(_ message: JSONValue?, subscriptionID: String? = nil) throws(GeomatchError) {
        guard let object = message?.asObject else { throw .malformed("update", "is not a JSON object") }
        let reader = ObjectReader(object)
        guard let topic = LiveUpdateTopic(encoded: try reader.string("topic")) else {
            throw .malformed("topic", "is not a live topic")
        }
        self.topic = topic
        itemID = try reader.string("itemId")
        timestamp = try reader.date("timestamp")
        receivedAt = try reader.date("receivedAt")
        properties = try reader.properties("properties")
        originSourceID = reader.optionalString("originSourceId")
        isDerived = reader.flag("derived")
        hasLeft = reader.flag("left")
        self.subscriptionID = subscriptionID
    }
}
