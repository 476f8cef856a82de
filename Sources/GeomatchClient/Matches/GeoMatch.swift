public import Foundation

/// A publication met a subscription, or (in visit mode) they parted.
///
/// The id is stable: the same match delivered again has the same one.
public struct GeoMatch: GeomatchAnswer, Identifiable {
    /// That it began, or (in visit mode) that it ended.
    public enum Event: String, Sendable {
        case matched, ended
    }

    /// Everything the daemon said of it.
    public let members: [String: PropertyValue]
    public let id: String
    public let event: Event
    public let createdAt: Date
    public let publication: GeoPublication
    public let subscription: GeoSubscription

    init(members: [String: PropertyValue]) throws(GeomatchError) {
        self.members = members
        id = try members.required("id")
        guard let event = Event(rawValue: try members.required("event")) else {
            throw .malformed("event", "is neither matched nor ended")
        }
        self.event = event
        guard let createdAt = members["createdAt"]?.date else { throw .malformed("createdAt", "is not a number") }
        self.createdAt = createdAt
        publication = try GeoPublication(members: members["publication"]?.objectValue ?? [:])
        subscription = try GeoSubscription(members: members["subscription"]?.objectValue ?? [:])
    }

    /// Between the two sides.
    public var distance: Measurement<UnitLength>? {
        members["distance"]?.doubleValue.map { Measurement(value: $0, unit: .meters) }
    }
    /// In visit mode, the id of the match that began the visit.
    public var visit: String? { members["visit"]?.stringValue }
    /// Why a visit ended: `left`, `expired`, `deleted` or `lost`.
    public var reason: String? { members["reason"]?.stringValue }
}

/// Why a pair matches now, or does not.
public struct MatchExplanation: Sendable {
    /// One rule of matching, whether it holds, and with which figures.
    public struct Check: Sendable {
        /// `topic`, `lifetime`, `location`, `floor`, `range`, `selector` or `suppression`.
        public var name: String
        public var passes: Bool
        public var detail: String
    }

    /// Whether a match would be made now.
    public var matches: Bool
    public var checks: [Check]
}
