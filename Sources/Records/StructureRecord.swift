/// What one venue, building, floor, room or location is durably.
///
/// It is known by its whole path, not by its id alone: two buildings may each have a floor `1`.
public struct StructureRecord: Equatable, Sendable {
    public var dataset: String
    public var level: StructureLevel
    /// The ids of the levels above, from the venue on, as many as its level has; `-` where it says nothing of one.
    public var parents: [String]
    public var id: String
    public var name: String?
    /// The floor of a floor, or of what lies on one: 0 is the ground floor, below it counts down.
    public var floorIndex: Int?
    /// For how many people there is room.
    public var capacity: Int?
    /// Its GeoJSON geometry as it was imported: a Point, Polygon or MultiPolygon.
    public var geometry: String?

    public init(
        dataset: String, level: StructureLevel, parents: [String], id: String, name: String? = nil, floorIndex: Int? = nil,
        capacity: Int? = nil, geometry: String? = nil
    ) {
        self.dataset = dataset
        self.level = level
        self.parents = parents
        self.id = id
        self.name = name
        self.floorIndex = floorIndex
        self.capacity = capacity
        self.geometry = geometry
    }
}

extension StructureRecord: DurableRecord {
    public static var kind: Kind { .structure }

    public func write(to fields: inout some FieldWriter) {
        fields.write(dataset)
        fields.write(level.rawValue)
        fields.write(list: parents)
        fields.write(id)
        fields.write(name)
        fields.write(floorIndex)
        fields.write(capacity)
        fields.write(geometry)
    }

    public init(from fields: inout some FieldReader) throws(MalformedRow) {
        self.init(
            dataset: fields.text(), level: try fields.word(), parents: try fields.list(), id: fields.text(),
            name: fields.optionalText(), floorIndex: fields.optionalInt(), capacity: fields.optionalInt(),
            geometry: fields.optionalText())
    }
}
