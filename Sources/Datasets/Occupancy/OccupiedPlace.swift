import LiveTopics

/// A room or a floor with the number of devices in it.
final class OccupiedPlace {
    let live: LiveTopic
    /// Of its occupancy, encoded.
    let topic: String
    var count = 0
    /// For how many there is room, where that was declared.
    var capacity: Int?
    /// What was last told; nil where nothing is.
    var told: Figures?
    var toldAt: Int64?
    /// It is among those that may have something to tell.
    var isNoted = false

    struct Figures: Equatable {
        var count: Int
        var capacity: Int?
    }

    init(_ live: LiveTopic, topic: String) {
        self.live = live
        self.topic = topic
    }

    var figures: Figures { Figures(count: count, capacity: capacity) }
}
