internal import LiveTopics
package import Wire

/// What live data is wanted: a live topic with some levels left open, and what must hold beside it.
///
/// ```swift
/// LiveCriteria().venue("museum").floor("2").domain(.position)
/// LiveCriteria().domain(.occupancy).where("nrOfPeople > 20").minInterval(.seconds(5))
/// LiveCriteria().within(.circle(latitude: 43.73, longitude: 7.42, radius: 200))
/// ```
public struct LiveCriteria: Sendable, Hashable {
    /// How surely updates come through.
    public enum Delivery: Int, Sendable {
        /// Lost when the connection is; the state is sent again after it.
        case atMostOnce = 0
        /// Repeated until the client has it, while the connection is open.
        case atLeastOnce = 1
    }

    private var levels: [String?]
    private var condition: String?
    private var area: LiveArea?
    private var interval: Duration?
    private var delivery = Delivery.atMostOnce
    private var wantsSnapshot = true
    /// The levels, the condition and the area as the contract has them, where they were given so.
    private var written: [String: PropertyValue]?

    /// Everything of a dataset.
    ///
    /// - Parameter dataset: Default: the client's. Another one is refused as `forbidden`.
    public init(dataset: String? = nil) {
        levels = Array(repeating: nil, count: LiveTopic.levelNames.count)
        levels[0] = dataset
    }

    /// Criteria as the contract has them: `criteria`, `where` and `within`.
    package init(written: JSONObject) {
        self.init()
        self.written = PropertyValue.members(of: written)
    }

    /// Only what is in this venue; each level left out is open.
    public func venue(_ id: String) -> LiveCriteria { with(level: 1, id) }
    /// Only what is in this building.
    public func building(_ id: String) -> LiveCriteria { with(level: 2, id) }
    /// Only what is on this floor.
    public func floor(_ id: String) -> LiveCriteria { with(level: 3, id) }
    /// Only what is in this room.
    public func room(_ id: String) -> LiveCriteria { with(level: 4, id) }
    /// One device, where the domain is ``LiveDomain/position``.
    public func location(_ id: String) -> LiveCriteria { with(level: 5, id) }
    /// Only updates of this domain.
    public func domain(_ domain: LiveDomain) -> LiveCriteria { with(level: 6, domain.rawValue) }

    /// Only updates whose properties fulfil this SQL-92 condition (the language of subscriptions' selectors).
    public func `where`(_ condition: String) -> LiveCriteria { changed { $0.condition = condition } }

    /// Only what is inside. What leaves, or is cleared, is reported once more with ``LiveUpdate/hasLeft``.
    public func within(_ area: LiveArea) -> LiveCriteria { changed { $0.area = area } }

    /// At most one update of one topic in this time: the newest.
    public func minInterval(_ interval: Duration) -> LiveCriteria { changed { $0.interval = interval } }

    /// How surely updates come through; ``Delivery/atMostOnce`` where it is not said.
    public func delivery(_ delivery: Delivery) -> LiveCriteria { changed { $0.delivery = delivery } }

    /// Whether what is known comes first (default), or only what changes from now on.
    public func snapshot(_ isWanted: Bool) -> LiveCriteria { changed { $0.wantsSnapshot = isWanted } }

    /// Whether a topic fulfils the levels. The other conditions are the daemon's to decide.
    ///
    /// Criteria without a dataset take any.
    public func matches(_ topic: LiveUpdateTopic) -> Bool {
        let topic = topic.levels
        let ids = [
            topic.dataset, topic.venue, topic.building, topic.floor, topic.room, topic.location, topic.domain,
        ]
        return zip(levels, ids).allSatisfy { wanted, id in wanted.map { $0.utf8.elementsEqual(id.utf8) } ?? true }
    }

    private func with(level: Int, _ id: String) -> LiveCriteria { changed { $0.levels[level] = id } }

    private func changed(_ change: (inout LiveCriteria) -> Void) -> LiveCriteria {
        var copy = self
        change(&copy)
        return copy
    }
}

extension LiveCriteria: CustomStringConvertible {
    /// The levels as an MQTT filter, `+` for an open one.
    public var description: String {
        levels.map { $0.map { LevelCoding.encode($0) } ?? "+" }.joined(separator: "/")
    }
}

extension LiveCriteria {
    var isSnapshotWanted: Bool { wantsSnapshot }

    /// The levels that are not open, `where` and `within`: what `live/snapshot` takes.
    var question: JSONObject {
        if let written { return PropertyValue.json(of: written) }
        var criteria = JSONObject()
        for (name, id) in zip(LiveTopic.levelNames, levels) where id != nil { criteria[name] = id.map { .string($0) } }
        var question: JSONObject = ["criteria": .object(criteria)]
        question["where"] = condition.map { .string($0) }
        question["within"] = area?.json
        return question
    }

    /// What `live/subscribe` takes.
    func parameters(id: String, lease: Int, snapshot: Bool) -> JSONObject {
        var parameters = question
        parameters["id"] = .string(id)
        parameters["lease"] = .integer(Int64(lease))
        parameters["qos"] = .integer(Int64(delivery.rawValue))
        parameters["snapshot"] = .bool(snapshot)
        parameters["minInterval"] = interval.map { .integer($0.milliseconds) }
        return parameters
    }
}
