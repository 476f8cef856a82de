internal import LiveTopics

/// The seven levels that say what a piece of live data is about, decoded; nil for a level that does not apply.
///
/// Two are equal when their ids are the same bytes, as a broker has it.
public struct LiveUpdateTopic: Sendable, Hashable {
    let levels: LiveTopic

    /// - Parameter domain: `-` and the empty text mean a level that does not apply, here and in every level.
    public init(
        dataset: String, venue: String? = nil, building: String? = nil, floor: String? = nil, room: String? = nil,
        location: String? = nil, domain: LiveDomain
    ) {
        levels = LiveTopic(
            dataset: dataset, venue: venue ?? "-", building: building ?? "-", floor: floor ?? "-", room: room ?? "-",
            location: location ?? "-", domain: domain.rawValue)
    }

    /// - Returns: nil for a text that is no live topic.
    public init?(encoded topic: String) {
        guard let levels = try? LiveTopic(encoded: topic) else { return nil }
        self.levels = levels
    }

    public var dataset: String { levels.dataset }
    public var venue: String? { Self.present(levels.venue) }
    public var building: String? { Self.present(levels.building) }
    public var floor: String? { Self.present(levels.floor) }
    public var room: String? { Self.present(levels.room) }
    /// Where the domain is ``LiveDomain/position``: the device's id.
    public var location: String? { Self.present(levels.location) }
    public var domain: LiveDomain { LiveDomain(rawValue: levels.domain) }

    /// As it is on the wire: seven percent-encoded levels, `-` for those that do not apply.
    public var encoded: String { levels.encoded }

    private static func present(_ level: String) -> String? { level == LiveTopic.notApplicable ? nil : level }
}

extension LiveUpdateTopic: CustomStringConvertible {
    public var description: String { encoded }
}
