import Geodesy
import Testing

@testable import Wire

@Suite("Positions")
struct PositionTests {
    @Test(
        "Every shape of a position becomes the native one",
        arguments: [
            LiveUpdateRow("position", #"{"latitude":47.5,"longitude":8}"#, #"{"latitude":47.5,"longitude":8}"#),
            LiveUpdateRow(
                "position",
                #"{"course":10,"speed":1.5,"floorIndex":2,"verticalAccuracy":3,"horizontalAccuracy":4,"altitude":5,"longitude":6,"latitude":7,"timestamp":1700000000000,"originSourceId":"s"}"#,
                #"{"latitude":7,"longitude":6,"altitude":5,"horizontalAccuracy":4,"verticalAccuracy":3,"floorIndex":2,"speed":1.5,"course":10}"#,
                timestamp: 1_700_000_000_000, source: "s"),
            LiveUpdateRow(
                "position", #"{"latitude":"47.5","longitude":"-8e0","floorIndex":"2.0"}"#,
                #"{"latitude":47.5,"longitude":-8,"floorIndex":2}"#),
            LiveUpdateRow("position", #"{"latitude":90,"longitude":-180}"#, #"{"latitude":90,"longitude":-180}"#),
            LiveUpdateRow(
                "position", #"{"lat":1,"lon":2,"alt":3,"acc":4,"tst":5}"#,
                #"{"latitude":1,"longitude":2,"altitude":3,"horizontalAccuracy":4}"#, timestamp: 5000),
            LiveUpdateRow(
                "position", #"{"lat":1,"lng":2,"accuracy":4,"ts":1700000000}"#,
                #"{"latitude":1,"longitude":2,"horizontalAccuracy":4}"#, timestamp: 1_700_000_000_000),
            LiveUpdateRow(
                "position", #"{"lat":1,"long":2,"gps_accuracy":4,"time":"2023-11-14T22:13:20Z"}"#,
                #"{"latitude":1,"longitude":2,"horizontalAccuracy":4}"#, timestamp: 1_700_000_000_000),
            LiveUpdateRow(
                "position", #"{"lat":1,"lon":2,"time":1700000000000}"#, #"{"latitude":1,"longitude":2}"#,
                timestamp: 1_700_000_000_000),
            LiveUpdateRow(
                "position", #"{"lat":1,"lon":2,"time":"1700000000.5"}"#, #"{"latitude":1,"longitude":2}"#,
                timestamp: 1_700_000_000_500),
            LiveUpdateRow(
                "position", #"{"lat":1,"lon":2,"tst":99999999999}"#, #"{"latitude":1,"longitude":2}"#,
                timestamp: 99_999_999_999_000),
            LiveUpdateRow(
                "position", #"{"lat":1,"lon":2,"tst":100000000000}"#, #"{"latitude":1,"longitude":2}"#, timestamp: 100_000_000_000
            ),
            LiveUpdateRow(
                "position", #"{"lat":1,"lon":2,"timestamp":1700000000}"#, #"{"latitude":1,"longitude":2}"#,
                timestamp: 1_700_000_000),
            // The native name counts before its aliases, wherever it stands.
            LiveUpdateRow(
                "position", #"{"lat":1,"latitude":2,"lon":3,"longitude":4,"tst":9,"timestamp":8}"#,
                #"{"latitude":2,"longitude":4}"#, timestamp: 8),
            LiveUpdateRow(
                "position", #"{"latitude":2,"lat":1,"longitude":4,"lon":3,"timestamp":8,"tst":9}"#,
                #"{"latitude":2,"longitude":4}"#, timestamp: 8),
            LiveUpdateRow(
                "position", #"{"latitude":null,"lat":1,"lon":3,"altitude":null,"speed":null,"x":null}"#,
                #"{"latitude":1,"longitude":3}"#),
            LiveUpdateRow(
                "position", #"{"latitude":1,"latitude":2,"longitude":3,"longitude":4,"a":1,"a":"x"}"#,
                #"{"latitude":2,"longitude":4,"a":"x"}"#),
            // Extras: scalars and arrays of them stay, what is nested is left out.
            LiveUpdateRow(
                "position",
                #"{"lat":1,"batt":87,"lon":2,"ids":["a",1,true,null],"o":{"a":1},"n":[[1]],"t":"4.0","v":7.0,"ok":true,"vel":9,"cog":8,"vac":7,"type":"car","geometry":"round"}"#,
                #"{"latitude":1,"longitude":2,"batt":87,"ids":["a",1,true,null],"t":"4.0","v":7,"ok":true,"vel":9,"cog":8,"vac":7,"type":"car","geometry":"round"}"#
            ),
            // A negative accuracy, speed or course says that there is none.
            LiveUpdateRow(
                "position", #"{"lat":1,"lon":2,"horizontalAccuracy":-1,"verticalAccuracy":-1,"speed":-1,"course":-1}"#,
                #"{"latitude":1,"longitude":2}"#),
            LiveUpdateRow("position", #"{"type":"Point","coordinates":[8.5,47.5]}"#, #"{"latitude":47.5,"longitude":8.5}"#),
            LiveUpdateRow(
                "position", #"{"type":"Point","coordinates":[8.5,47.5,400,1],"timestamp":5,"bbox":[1,2,3,4],"x":1}"#,
                #"{"latitude":47.5,"longitude":8.5,"altitude":400,"x":1}"#, timestamp: 5),
            LiveUpdateRow(
                "position",
                #"{"type":"Feature","id":"f","geometry":{"type":"Point","coordinates":[8.5,47.5,1.5]},"properties":{"acc":3,"tst":7,"type":"bus","id":"inner","line":12,"floorIndex":1,"latitude":0,"o":{}}}"#,
                #"{"latitude":47.5,"longitude":8.5,"altitude":1.5,"horizontalAccuracy":3,"floorIndex":1,"type":"bus","line":12,"id":"f"}"#,
                timestamp: 7000),
            LiveUpdateRow(
                "position",
                #"{"type":"Feature","geometry":{"type":"Point","coordinates":["8.5","47.5"]},"properties":null,"timestamp":3}"#,
                #"{"latitude":47.5,"longitude":8.5}"#, timestamp: 3),
            LiveUpdateRow(
                "position",
                #"{"_type":"location","acc":10,"alt":400,"batt":55,"bs":1,"cog":270,"lat":47.5,"lon":8.5,"t":"u","tid":"ab","tst":1700000000,"vac":5,"vel":36,"conn":"w","inregions":["home"],"motion":{"a":1}}"#,
                #"{"latitude":47.5,"longitude":8.5,"altitude":400,"horizontalAccuracy":10,"verticalAccuracy":5,"speed":10,"course":270,"batt":55,"bs":1,"t":"u","tid":"ab","conn":"w","inregions":["home"]}"#,
                timestamp: 1_700_000_000_000),
            LiveUpdateRow(
                "position", #"{"_type":"location","lat":1,"lon":2,"vel":36,"speed":3}"#,
                #"{"latitude":1,"longitude":2,"speed":3}"#),
            LiveUpdateRow("position", #"{"lat":1,"lon":2,"originSourceId":17}"#, #"{"latitude":1,"longitude":2}"#, source: "17"),
        ])
    func shapes(_ row: LiveUpdateRow) throws {
        let (update, properties) = try row.decode()
        #expect(properties == row.properties)
        #expect(update.timestamp == row.timestamp)
        #expect(update.originSourceId == row.source)
        let object = try #require(try JSONValue.parse(properties).asObject)
        let position = try #require(update.position)
        #expect(position.latitude == object["latitude"]?.asDouble)
        #expect(position.longitude == object["longitude"]?.asDouble)
        #expect(position.altitude == object["altitude"]?.asDouble)
        #expect(position.horizontalAccuracy == object["horizontalAccuracy"]?.asDouble)
        #expect(update.floorIndex.map(Int64.init) == object["floorIndex"]?.asInt64)
    }

    @Test(
        "What is no position is refused, naming the field",
        arguments: [
            LiveUpdateRow.refused("position", "", field: nil), LiveUpdateRow.refused("position", "x", field: nil),
            LiveUpdateRow.refused("position", "[1,2]", field: nil),
            LiveUpdateRow.refused("position", "null", field: nil), LiveUpdateRow.refused("position", "{}", field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":1}"#, field: "longitude"),
            LiveUpdateRow.refused("position", #"{"lon":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":null,"longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":1,"latitude":null,"longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":90.0001,"longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"lat":-91,"lon":1}"#, field: "lat"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lng":180.1}"#, field: "lng"),
            LiveUpdateRow.refused("position", #"{"latitude":"north","longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":true,"longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":"NaN","longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":"1e999","longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":"0x10","longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":"","longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":"4,5","longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":{"a":1},"longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"latitude":[1],"longitude":1}"#, field: "latitude"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"altitude":"high"}"#, field: "altitude"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"acc":{}}"#, field: "acc"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"gps_accuracy":"x"}"#, field: "gps_accuracy"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"floorIndex":1.5}"#, field: "floorIndex"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"floorIndex":1e300}"#, field: "floorIndex"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"speed":"fast"}"#, field: "speed"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"timestamp":-1}"#, field: "timestamp"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"timestamp":1e17}"#, field: "timestamp"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"timestamp":true}"#, field: "timestamp"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"timestamp":"yesterday"}"#, field: "timestamp"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"timestamp":"1969-12-31T23:59:59Z"}"#, field: "timestamp"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"time":"2023-11-14T22:13:20"}"#, field: "time"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"tst":-5}"#, field: "tst"),
            LiveUpdateRow.refused("position", #"{"lat":1,"lon":2,"originSourceId":{}}"#, field: "originSourceId"),
            LiveUpdateRow.refused("position", #"{"_type":"transition","lat":1,"lon":2}"#, field: "_type"),
            LiveUpdateRow.refused("position", #"{"_type":"waypoint","lat":1,"lon":2,"tst":1}"#, field: "_type"),
            LiveUpdateRow.refused("position", #"{"_type":7,"latitude":1,"longitude":2}"#, field: "_type"),
            LiveUpdateRow.refused("position", #"{"_type":"location","lat":1,"lon":2,"vel":"x"}"#, field: "vel"),
            LiveUpdateRow.refused("position", #"{"type":"Point","coordinates":[1]}"#, field: "coordinates"),
            LiveUpdateRow.refused("position", #"{"type":"Point","coordinates":"x"}"#, field: "coordinates"),
            LiveUpdateRow.refused("position", #"{"type":"Point","coordinates":[181,1]}"#, field: "coordinates"),
            LiveUpdateRow.refused("position", #"{"type":"Point","coordinates":[1,91]}"#, field: "coordinates"),
            LiveUpdateRow.refused("position", #"{"type":"Point","coordinates":[1,2,"x"]}"#, field: "coordinates"),
            LiveUpdateRow.refused("position", #"{"type":"LineString","coordinates":[[1,2],[3,4]]}"#, field: "latitude"),
            LiveUpdateRow.refused(
                "position", #"{"type":"Feature","geometry":{"type":"Polygon","coordinates":[]}}"#, field: "geometry"),
            LiveUpdateRow.refused("position", #"{"type":"Feature","geometry":null}"#, field: "geometry"),
            LiveUpdateRow.refused("position", #"{"type":"Feature","geometry":{"type":"Point"}}"#, field: "geometry.coordinates"),
            LiveUpdateRow.refused(
                "position", #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,91]}}"#, field: "geometry.coordinates"
            ),
        ])
    func refuses(_ row: LiveUpdateRow) {
        #expect {
            try row.decode()
        } throws: { error in
            let error = error as? WireError
            return error?.code == .invalid && error?.field == row.field && error?.message.isEmpty == false
        }
    }

    @Test("An error says the rule and the value, cut to 40 characters")
    func messages() {
        func message(_ payload: String) -> String? {
            do throws(WireError) {
                _ = try LiveUpdateRow("position", payload, "").decode()
                return nil
            } catch {
                return error.message
            }
        }
        #expect(message(#"{"lat":91,"lon":1}"#) == "`lat` must be a latitude from -90 to 90, not 91")
        #expect(message(#"{"latitude":1}"#) == "`longitude` is required")
        let long = String(repeating: "é", count: 100)
        #expect(
            message(#"{"lat":1,"lon":1,"alt":"\#(long)"}"#)
                == "`alt` must be a number, not \"\(String(repeating: "é", count: 39))…")
        #expect(message(#"{"lat":1,"lon":1,"alt":[1]}"#) == "`alt` must be a number, not an array")
    }

    @Test("A live message carries what was decoded, and gives it back")
    func liveMessage() throws {
        var properties: [UInt8] = []
        let decoder = LiveUpdateDecoder()
        let payload = #"{"lat":47.25,"lon":8.5,"alt":400,"acc":5,"floorIndex":-1,"x":"\"é"}"#
        let update = try decoder.decode(Array(payload.utf8), domain: "position", properties: &properties)
        var message: [UInt8] = []
        LiveMessage.encode(
            topic: "d/-/-/-/-/a\"b/position", domain: "position", itemID: "a\"b", timestamp: 12, receivedAt: 34,
            properties: properties, originSourceId: "s", derived: true, into: &message)
        #expect(
            String(decoding: message, as: UTF8.self)
                == #"{"topic":"d/-/-/-/-/a\"b/position","domainType":"position","itemId":"a\"b","timestamp":12,"receivedAt":34,"properties":{"latitude":47.25,"longitude":8.5,"altitude":400,"horizontalAccuracy":5,"floorIndex":-1,"x":"\"é"},"originSourceId":"s","derived":true}"#
        )
        #expect(LiveMessage.position(inPayload: message) == update.position)
        let stored = try #require(LiveMessage.update(inPayload: message))
        #expect(stored == LiveUpdate(timestamp: 12, originSourceId: "s", position: update.position, floorIndex: -1))
    }

    @Test("A live message of another domain, or none, holds no position")
    func noPosition() {
        var message: [UInt8] = []
        LiveMessage.encode(
            topic: "d/-/-/-/-/a/x", domain: "x", itemID: "a", timestamp: 12, receivedAt: 34,
            properties: AnyCollection(Array(#"{"latitude":1,"longitude":2}"#.utf8)), originSourceId: nil, derived: false,
            into: &message)
        #expect(
            String(decoding: message, as: UTF8.self)
                == #"{"topic":"d/-/-/-/-/a/x","domainType":"x","itemId":"a","timestamp":12,"receivedAt":34,"properties":{"latitude":1,"longitude":2}}"#
        )
        #expect(LiveMessage.position(inPayload: message) == nil)
        #expect(LiveMessage.update(inPayload: message) == LiveUpdate(timestamp: 12))
        for text in ["", "x", "{}", "[]", #"{"domainType":"position","properties":{"latitude":99,"longitude":0}}"#] {
            #expect(LiveMessage.position(inPayload: Array(text.utf8)) == nil)
        }
    }
}
