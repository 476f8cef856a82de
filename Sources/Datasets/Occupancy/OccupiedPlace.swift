import LiveTopics
import Wire

/// A room or a floor with the number of devices in it.
final class OccupiedPlace {
    let live: LiveTopic
    /// Of its occupancy, encoded.
    let topic: String
    var count = 0
    /// For how many there is room, where that was declared.
    var capacity: Int?
    /// What was last reported; nil where nothing is.
    var reported: Figures?
    var reportedAt: Int64?
    /// It is among those that may have something to report.
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

    /// Writes the properties of its live message, `{"nrOfPeople","capacity"?}`, which count as reported.
    func report(at now: Int64, into writer: inout JSONWriter) {
        reported = figures
        reportedAt = now
        writer.beginObject()
        writer.member("nrOfPeople", count)
        if let capacity { writer.member("capacity", capacity) }
        writer.endObject()
    }
}
