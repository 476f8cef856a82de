import Testing
import Wire

@testable import geomatch

@Suite("Importing geofences")
struct GeofenceImportTests {
    @Test(
        "A feature becomes the parameters of a geofence; a point needs a radius, and other properties are left out",
        arguments: [
            (
                #"{"type":"Feature","properties":{"id":"a","name":"A","dwell":60,"colour":"red"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}"#,
                #"{"id":"a","area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},"name":"A","dwell":60}"#
            ),
            (
                #"{"type":"Feature","id":7,"properties":{"radius":50},"geometry":{"type":"Point","coordinates":[7.5,43.5]}}"#,
                #"{"id":"7","area":{"circle":{"latitude":43.5,"longitude":7.5,"radius":50}}}"#
            ),
            (#"{"type":"Feature","properties":null,"geometry":null}"#, "{}"),
        ])
    func feature(_ feature: String, _ parameters: String) throws {
        let made = GeofenceFeature(try JSONValue.parse(feature)).parameters
        #expect(String(decoding: JSONValue.object(made).serialised(), as: UTF8.self) == parameters)
    }
}
