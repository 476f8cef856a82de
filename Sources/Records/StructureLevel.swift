/// The five levels of a dataset's structure, from the top; the raw value is the `level` on the wire.
public enum StructureLevel: String, Sendable, CaseIterable {
    case venue, building, floor, room, location

    /// How many levels are above it, 0…4.
    public var depth: Int {
        switch self {
        case .venue: 0
        case .building: 1
        case .floor: 2
        case .room: 3
        case .location: 4
        }
    }
}
