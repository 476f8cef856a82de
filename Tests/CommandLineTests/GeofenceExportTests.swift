import Testing
import Wire

@testable import geomatch

@Suite("Exporting geofences")
struct GeofenceExportTests {
    private static func geofences() throws -> [JSONValue] {
        let text = """
            [{"id":"home","name":"Home","area":{"circle":{"latitude":43.73,"longitude":7.42,"radius":99.5}},"exitMargin":10,"dwell":0,
            "accuracy":"likely","floor":"any","enabled":true,"createdAt":1795291597208,"updatedAt":1795291597208,"owner":"ann",
            "revision":"1-a","delivery":{"pending":0}},
            {"id":"owntracks/school","name":"school","area":{"circle":{"latitude":43.735,"longitude":7.425,"radius":150}},
            "createdAt":1795291597900,"owner":"ann"},
            {"id":"park","area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},"createdAt":0},
            {"id":"bus","area":{"around":"bus-7","radius":50},"createdAt":0}]
            """
        return try #require(try JSONValue.parse(text).asArray)
    }

    private func text(_ value: JSONValue) -> String { String(decoding: value.serialised(), as: UTF8.self) }

    @Test("Circles become waypoints, no two with the same time, by which the app knows them; others are named")
    func waypoints() throws {
        let export = GeofenceExport(try Self.geofences())
        #expect(
            text(export.waypoints)
                == #"{"_type":"waypoints","waypoints":[{"_type":"waypoint","desc":"Home","lat":43.73,"lon":7.42,"rad":100,"tst":1795291597},{"_type":"waypoint","desc":"school","lat":43.735,"lon":7.425,"rad":150,"tst":1795291598}]}"#
        )
        #expect(export.withoutCircle == ["park", "bus"])
    }

    @Test("What is exported as GeoJSON is imported as it was")
    func features() throws {
        let geofences = try Self.geofences()
        let features = try #require(GeofenceExport(geofences).features.member("features")?.asArray)
        #expect(features.count == 4)
        for (geofence, feature) in zip(geofences, features) {
            let parameters = GeofenceFeature(feature).parameters
            #expect(parameters["id"] == geofence.member("id"))
            #expect(parameters["area"] == geofence.member("area"))
            #expect(parameters["name"] == geofence.member("name") && parameters["dwell"] == geofence.member("dwell"))
            #expect(parameters["owner"] == nil && parameters["radius"] == nil)
        }
    }

    @Test(
        "geofence export is a command beside the requests about geofences",
        arguments: [
            ("geofence create id=x", "request geofence create id=x"), ("--json geofence export", "geofence export --json"),
            ("geofence list", "request geofence list"),
            ("--dataset d geofence inside home", "request --dataset d geofence inside home"),
        ])
    func words(_ words: String, _ arranged: String) throws {
        #expect(try Invocation.arranged(words.split(separator: " ").map(String.init)).joined(separator: " ") == arranged)
    }

    @Test("Help of geofence lists its requests and export")
    func help() throws {
        let said = try #require(RequestHelp.asked(for: ["geofence", "--help"]))
        #expect(said.contains("\n  inside ") && said.contains("\n  export "))
        #expect(RequestHelp.asked(for: ["geofence", "export", "--help"]) == nil)
    }
}
