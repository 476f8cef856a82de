import ArgumentParser
import GeomatchClient
import Wire

/// `geomatch geofence export`: this client's geofences as a file.
struct GeofenceExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write this client's geofences as GeoJSON, or as waypoints for OwnTracks.",
        usage: "geomatch geofence export [--owntracks]",
        discussion: """
            Without an option it is a FeatureCollection that `geomatch import geofences` reads again: polygons as they are, circles \
            as points with a radius, areas of places, structure and devices by their names.

            With --owntracks it is a file of waypoints that the app imports. Its regions are circles: other areas are left out, and \
            named on standard error.

            Examples:
              geomatch geofence export > geofences.geojson
              geomatch --client ann geofence export --owntracks > waypoints.otrw
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Flag(help: "Waypoints for the app OwnTracks.")
    var owntracks = false

    func run() async throws {
        let found = try await answer(try connection.configuration()) { client in
            try await client.pages(of: "geofence/list", [:], asJSON: output.json).merged
        }
        let export = GeofenceExport(found.member("geofences")?.asArray ?? [])
        if owntracks {
            for id in export.withoutCircle {
                StandardError.line("left out: \(PlainText.printable(id)) is no circle, and OwnTracks has circles only")
            }
        }
        let file = owntracks ? export.waypoints : export.features
        if output.json { StandardOutput.print(json: file) } else { StandardOutput.print(PrettyJSON.text(file)) }
    }
}

/// Geofences in the formats of others.
struct GeofenceExport {
    private let geofences: [JSONValue]

    /// - Parameter geofences: As `geofence/list` has them.
    init(_ geofences: [JSONValue]) { self.geofences = geofences }

    /// The ids of those that OwnTracks cannot have.
    var withoutCircle: [String] {
        geofences.filter { Self.circle($0) == nil }.map { $0.member("id")?.asString ?? "" }
    }

    /// A file of waypoints as the app exports and imports them.
    ///
    /// Source: owntracks/booklet, `docs/tech/json.md`. The app knows a waypoint by `tst`, so no two have the same.
    var waypoints: JSONValue {
        var taken: Set<Int64> = []
        let waypoints = geofences.compactMap { geofence -> JSONValue? in
            guard let circle = Self.circle(geofence), let id = geofence.member("id")?.asString else { return nil }
            var created = (geofence.member("createdAt")?.asInt64 ?? 0) / 1000
            while !taken.insert(created).inserted { created += 1 }
            // The daemon gives the prefix to those that come from the app.
            let own = id.hasPrefix(Self.prefix) ? String(id.dropFirst(Self.prefix.count)) : nil
            return [
                "_type": "waypoint", "desc": .string(own ?? geofence.member("name")?.asString ?? id),
                "lat": circle.member("latitude") ?? .null, "lon": circle.member("longitude") ?? .null,
                "rad": .integer(Int64((circle.member("radius")?.asDouble ?? 0).rounded(.up))), "tst": .integer(created),
            ]
        }
        return ["_type": "waypoints", "waypoints": .array(waypoints)]
    }

    private static let prefix = "owntracks/"

    /// What `geomatch import geofences` reads.
    var features: JSONValue {
        let features = geofences.map { geofence -> JSONValue in
            var properties = JSONObject()
            for member in geofence.asObject?.members ?? [] where !Self.state.contains(member.key) {
                properties[member.key] = member.value
            }
            var geometry = JSONValue.null
            let area = geofence.member("area")
            if let circle = Self.circle(geofence) {
                properties["radius"] = circle.member("radius")
                geometry = [
                    "type": "Point",
                    "coordinates": [circle.member("longitude") ?? .null, circle.member("latitude") ?? .null],
                ]
            } else if area?.member("type") != nil {
                geometry = area ?? .null
            } else {
                properties["area"] = area
            }
            return ["type": "Feature", "properties": .object(properties), "geometry": geometry]
        }
        return ["type": "FeatureCollection", "features": .array(features)]
    }

    /// What the daemon says of a geofence and nobody asks for.
    private static let state = ["area", "createdAt", "updatedAt", "owner", "revision", "delivery", "problem"]

    private static func circle(_ geofence: JSONValue) -> JSONValue? { geofence.member("area")?.member("circle") }
}
