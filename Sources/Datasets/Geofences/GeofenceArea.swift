import Geodesy
import Geofencing
import LiveTopics
import Records
import Wire

/// What a geofence encloses, as a client asks for it.
enum GeofenceArea {
    case fixed(FenceArea)
    /// The outline of a place, by its id.
    case place(String)
    /// The outline of a venue, building, floor or room: its path, `-` for levels that were left open.
    case structure([String])
    /// A circle that moves with a device.
    case around(device: String, radius: Double)

    static let radiusRange = 1.0...1_000_000
    static let verticesMax = 5000

    init(_ value: JSONValue, field: String = "area") throws(WireError) {
        guard let object = value.asObject else {
            throw WireError(.invalid, "`\(field)` must be an object, not \(value.shown)", field: field)
        }
        let parameters = Parameters(object, path: "\(field).")
        if object["type"] != nil {
            self = .fixed(FenceArea(try Self.polygons(parameters)))
            return
        }
        let kinds = ["circle", "bbox", "place", "structure", "around"].filter { parameters.value($0) != nil }
        guard kinds.count == 1, let kind = kinds.first else {
            throw WireError(
                .invalid,
                "`\(field)` must be one of `circle`, `bbox`, a GeoJSON Polygon or MultiPolygon, `place`, `structure` and `around`",
                field: field)
        }
        switch kind {
        case "circle":
            let circle = try parameters.nested("circle")
            _ = try circle.number("radius", in: Self.radiusRange, unit: "metres")
            self = .fixed(try Self.area(value, field))
        case "bbox": self = .fixed(try Self.area(value, field))
        case "place": self = .place(try parameters.id("place"))
        case "structure": self = .structure(try Self.levels(try parameters.nested("structure")))
        default:
            self = .around(
                device: try parameters.id("around"), radius: try parameters.number("radius", in: Self.radiusRange, unit: "metres")
            )
        }
        if kind != "around", parameters.has("radius") {
            throw parameters.error("radius", "belongs to `around`, or into `circle`")
        }
    }

    /// Reads what was stored, which was checked before.
    init(stored text: String, using parser: JSONParser) throws(WireError) {
        guard let value = try? JSONValue.parse(Array(text.utf8), using: parser) else {
            throw WireError(.internal, "an area is no JSON")
        }
        try self.init(value)
    }

    private static func area(_ value: JSONValue, _ field: String) throws(WireError) -> FenceArea {
        switch try AreaCoding.decode(value, field: field) {
        case .circle(let circle): return FenceArea(circle)
        case .box(let box):
            guard box.width > 0, box.north > box.south else {
                throw WireError(.invalid, "`\(field).bbox` must enclose something", field: "\(field).bbox")
            }
            return FenceArea(box)
        case .polygon(let polygon): return FenceArea([polygon])
        }
    }

    private static func polygons(_ parameters: Parameters) throws(WireError) -> [Area.Polygon] {
        let field = "\(parameters.path)coordinates"
        switch try parameters.word("type", of: ["Polygon", "MultiPolygon"]) {
        case "Polygon":
            return [
                try AreaCoding.polygon(
                    coordinates: parameters.value("coordinates") ?? .null, field: field, verticesMax: verticesMax)
            ]
        default:
            let parts = try parameters.array("coordinates", count: 1...verticesMax)
            var left = verticesMax
            var polygons: [Area.Polygon] = []
            for part in parts {
                let polygon = try AreaCoding.polygon(coordinates: part, field: field, verticesMax: left)
                left -= polygon.rings.reduce(0) { $0 + $1.count - 1 }
                polygons.append(polygon)
            }
            return polygons
        }
    }

    /// The levels of an object, down to the lowest that is named.
    private static func levels(_ parameters: Parameters) throws(WireError) -> [String] {
        var levels: [String] = []
        var named = 0
        for level in StructureLevel.allCases.dropLast() {
            let id = try parameters.optionalString(level.rawValue, bytes: 1...Name.idBytesMax) ?? LiveTopic.notApplicable
            levels.append(id)
            if id != LiveTopic.notApplicable { named = levels.count }
        }
        guard named > 0 else {
            throw parameters.error(StructureLevel.venue.rawValue, "or another level is required: building, floor, room")
        }
        return Array(levels.prefix(named))
    }

    /// The level of the object that levels name.
    static func level(of levels: [String]) -> StructureLevel { StructureLevel.allCases[levels.count - 1] }
}

/// What an area is at present.
struct ResolvedArea {
    var area: FenceArea?
    /// 0: not known.
    var floor: UInt32 = 0
    /// Why there is none: it will be there when that is.
    var problem: WireError?
}

extension Geofences {
    /// What an area of a client's geofence is at present; of one that moves, see the engine.
    func resolve(_ area: GeofenceArea, of owner: String) -> ResolvedArea {
        switch area {
        case .fixed(let area): ResolvedArea(area: area)
        case .place(let id): resolve(place: id)
        case .structure(let levels): resolve(structure: levels)
        case .around(let device, _):
            centre(device, of: owner) == nil
                ? ResolvedArea(problem: WireError(.notFound, "there is no device `\(device)`", field: "area.around"))
                : ResolvedArea()
        }
    }

    /// The device that a client's geofence moves with; nil while the client reaches none of that id: another client's may have taken it.
    func centre(_ id: String, of owner: String) -> Device? {
        devices[id].flatMap { devices.reaches($0, by: owner) ? $0 : nil }
    }

    private func resolve(place id: String) -> ResolvedArea {
        guard let place = places.table[id] else {
            return ResolvedArea(problem: WireError(.notFound, "there is no place `\(id)`", field: "area.place"))
        }
        guard case .polygons(let polygons) = place.geometry else {
            return ResolvedArea(problem: WireError(.invalid, "the place `\(id)` has no outline", field: "area.place"))
        }
        return ResolvedArea(area: FenceArea(polygons))
    }

    private func resolve(structure levels: [String]) -> ResolvedArea {
        let level = GeofenceArea.level(of: levels)
        let id = levels[levels.count - 1]
        let found = structure.tree.nodes(level, id, below: levels)
        guard let node = found.first, found.count == 1 else {
            let problem =
                found.isEmpty
                ? WireError(.notFound, "there is no \(level.rawValue) `\(id)` there", field: "area.structure")
                : WireError(
                    .invalid, "`area.structure` must name the levels above: there are \(found.count) \(level.rawValue)s `\(id)`",
                    field: "area.structure")
            return ResolvedArea(problem: problem)
        }
        var outline = node.outline
        if outline == nil, level == .floor { outline = structure.tree.node(at: Array(node.path.prefix(2)))?.outline }
        guard let outline else {
            return ResolvedArea(
                problem: WireError(.invalid, "the \(level.rawValue) `\(id)` has no outline", field: "area.structure"))
        }
        let open = Array(repeating: LiveTopic.notApplicable, count: 4 - node.path.count)
        let whereabouts = Whereabouts(levels: node.path + open, outline: nil, floorIndex: nil)
        let floor = structure.floor(of: whereabouts)
        return ResolvedArea(area: FenceArea(outline.polygons), floor: floor?.number ?? 0)
    }
}
