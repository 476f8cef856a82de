import ArgumentParser
import GeomatchClient
import Wire

/// `geomatch import geofences FILE`: polygons and circles of a GeoJSON file as geofences of this client.
struct GeofenceImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "geofences",
        abstract: "Import geofences from a GeoJSON file.",
        usage: "geomatch import geofences FILE",
        discussion: """
            FILE is a GeoJSON FeatureCollection. A Polygon or MultiPolygon is an area as it is; a Point needs a radius in metres \
            among its properties; without a geometry the property area is taken, as in `geofence create`. The properties may have what `geomatch geofence create --help` lists: id, name, devices, \
            exitMargin, dwell, staleAfter, accuracy, floor, pushers, enabled; others are left out. A geofence of the same id is \
            replaced; without an id a new one is created each time.

            Rejected features are listed on standard error; the exit code is then 1.

            Examples:
              geomatch --dataset city import geofences zones.geojson
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Argument(help: ArgumentHelp("A GeoJSON file, or - for standard input.", valueName: "file"))
    var file: String

    func run() async throws {
        let configuration = try connection.configuration()
        let source = try StructureSource(path: file, naming: .ids)
        for reason in source.unreadable { StandardError.line("refused: \(PlainText.printable(reason))") }
        let tally = try await withClient(configuration) { client in
            var tally = ImportTally()
            for feature in source.features { tally.add(.object(try await GeofenceFeature(feature).put(client))) }
            return tally
        }
        guard let tally else { throw CommandFailure.unavailable("interrupted; importing again does no harm") }
        tally.show(asJSON: output.json)
        let refusedCount = tally.refusedCount + source.unreadable.count
        if refusedCount > 0 { throw CommandFailure.failed("\(refusedCount) features were refused") }
    }
}

/// One feature as the parameters of a geofence.
struct GeofenceFeature {
    let parameters: JSONObject

    private static let properties = [
        "name", "devices", "exitMargin", "dwell", "staleAfter", "accuracy", "floor", "pushers", "secret", "notification",
        "enabled",
    ]

    init(_ feature: JSONValue) {
        let properties = feature.member("properties")
        var parameters = JSONObject()
        switch properties?.member("id") ?? feature.member("id") {
        case .string(let id)?: parameters["id"] = .string(id)
        case .integer(let number)?: parameters["id"] = .string(String(number))
        default: break
        }
        let area = Self.area(feature.member("geometry"), radius: properties?.member("radius")) ?? properties?.member("area")
        if let area { parameters["area"] = area }
        for key in Self.properties {
            if let value = properties?.member(key), value != .null { parameters[key] = value }
        }
        self.parameters = parameters
    }

    /// A circle where the geometry is a point, else the geometry itself.
    private static func area(_ geometry: JSONValue?, radius: JSONValue?) -> JSONValue? {
        guard let geometry, geometry.member("type") == "Point" else { return geometry == .null ? nil : geometry }
        let point = geometry.member("coordinates")?.asArray ?? []
        guard point.count >= 2 else { return geometry }
        return .object(["circle": .object(["latitude": point[1], "longitude": point[0], "radius": radius ?? .null])])
    }

    /// Creates the geofence, or replaces the one of its id.
    ///
    /// - Returns: What an import's reply would say of it.
    func put(_ client: GeomatchClient) async throws -> JSONObject {
        let created = try await client.reply(to: "geofence/create", parameters)
        guard let error = created["error"] else { return ["imported": 1] }
        var failure = error
        if error.member("error") == "conflict" {
            let updated = try await client.reply(to: "geofence/update", parameters)
            guard let error = updated["error"] else { return ["replaced": 1] }
            failure = error
        }
        return ["refused": .array([.object(["id": parameters["id"] ?? .null, "error": failure])])]
    }
}
