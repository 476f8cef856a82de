import Geodesy
import LiveTopics
import Wire
import Records

/// One venue, building, floor, room or location as the hub holds it.
final class StructureNode {
    private(set) var record: StructureRecord
    /// The ids from the venue down to its own; `-` where a level above is not known.
    let path: [String]
    private(set) var outline: Outline?
    /// Where it is: the middle of its outline, or its Point.
    private(set) var position: Position?

    init(_ record: StructureRecord, outline: Outline?) {
        self.record = record
        self.outline = outline
        position = outline.map(\.middle) ?? Outline.point(record.geometry)
        path = record.parents + [record.id]
    }

    var level: StructureLevel { record.level }

    /// The same object was imported again.
    func replace(_ record: StructureRecord, outline: Outline?) {
        self.record = record
        self.outline = outline
        position = outline.map(\.middle) ?? Outline.point(record.geometry)
    }

    /// Whether nothing above it contradicts these levels, venue first; `-` says nothing, on either side.
    func fits(below levels: [String]) -> Bool {
        zip(record.parents, levels).allSatisfy { own, other in
            own == LiveTopic.notApplicable || other == LiveTopic.notApplicable || own.hasSameBytes(as: other)
        }
    }
}

extension [String] {
    /// Levels as one key: their encoded forms hold no `/`.
    var structureKey: String { map(LevelCoding.encode).joined(separator: "/") }
}
