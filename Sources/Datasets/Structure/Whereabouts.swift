import LiveTopics
import Wire
import Records

/// In which room something is, or at least on which floor or in which building or venue, and the levels above that.
final class Whereabouts {
    /// Venue, building, floor and room; `-` where it is not known.
    let levels: [String]
    /// Of the lowest level that is known; nil where only a topic said so.
    let outline: Outline?
    let floorIndex: Int?

    init(levels: [String], outline: Outline?, floorIndex: Int?) {
        self.levels = levels
        self.outline = outline
        self.floorIndex = floorIndex
    }

    var venue: String? { level(0) }
    var building: String? { level(1) }
    var floor: String? { level(2) }
    var room: String? { level(3) }

    private func level(_ depth: Int) -> String? { levels[depth] == LiveTopic.notApplicable ? nil : levels[depth] }

    /// Whether both are the same room, or the same floor where neither has a room.
    func isSamePlace(as other: Whereabouts) -> Bool {
        self === other || zip(levels, other.levels).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    func isOnSameFloor(as other: Whereabouts) -> Bool {
        zip(levels, other.levels).prefix(3).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}

/// What the topic of a position says of where it is.
final class StatedLevels {
    /// Venue, building, floor and room as published; `-` where the topic leaves them open.
    let levels: [String]
    /// The room that the topic names, or the floor where it names no room, with what the structure knows above it.
    let named: Whereabouts?
    /// The building or venue that the topic names.
    let surroundings: Whereabouts?

    init(levels: [String], named: Whereabouts?, surroundings: Whereabouts? = nil) {
        self.levels = levels
        self.named = named
        self.surroundings = surroundings
    }

    func says(_ level: StructureLevel) -> Bool { levels[level.depth] != LiveTopic.notApplicable }
}
