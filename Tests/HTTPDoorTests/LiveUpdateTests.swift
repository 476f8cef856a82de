import Datasets
import Testing
import Wire

@testable import HTTPDoor

@Suite("Live updates over HTTP")
struct LiveUpdateTests {
    private func snapshot(_ connection: Connection, _ dataset: String = "d") throws -> [JSONObject] {
        let answer = try connection.ask("GET", "/api/\(dataset)/live/snapshot?criteria=\(dataset)/%23")
        return answer.json["result"]?.asObject?["updates"]?.asArray?.compactMap(\.asObject) ?? []
    }

    @Test("A live update is answered with its topic and time, and cleared by DELETE")
    func single() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let path = "/api/d/live/-/-/-/-/phone%2F1/position"
            let answer = try connection.ask("POST", path, #"{"lat":43.73,"lon":7.42,"timestamp":1700000000000}"#)
            #expect(answer.status == 200, "\(answer)")
            let result = answer.json["result"]?.asObject
            #expect(result?["topic"] == "d/-/-/-/-/phone%2F1/position" && result?["timestamp"] == 1_700_000_000_000, "\(answer)")
            let late = try connection.ask("POST", path, #"{"lat":43.73,"lon":7.42,"timestamp":1600000000000}"#)
            #expect(late.json["result"]?.asObject?["late"] == true, "\(late)")
            let skewed = try connection.ask("POST", path, #"{"lat":43.73,"lon":7.42,"timestamp":9000000000000}"#)
            #expect(skewed.json["result"]?.asObject?["skewed"] == true, "\(skewed)")
            #expect(try snapshot(connection).count == 1)
            #expect(try connection.ask("DELETE", path).status == 200)
            #expect(try snapshot(connection).isEmpty)
        }
    }

    @Test("A refused update is answered with the error that its diagnostic would have had")
    func refused() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let wrong = try connection.ask("POST", "/api/d/live/-/-/-/-/phone/position", #"{"lat":143.73,"lon":7.42}"#)
            #expect(wrong.status == 400 && wrong.error == "invalid" && wrong.text.contains("lat"), "\(wrong)")
            #expect(try connection.ask("POST", "/api/d/live/-/-/-/-/phone/position", "").status == 400)
            #expect(try connection.ask("POST", "/api/live/live/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#).status == 400)
            #expect(try connection.ask("PUT", "/api/d/live/-/-/-/-/phone/position", "{}").fields["allow"] == "POST, DELETE")
            let large = #"{"x":"\#(String(repeating: "x", count: 65_536))"}"#
            #expect(try Connection(to: house.port).ask("POST", "/api/d/live/-/-/-/-/phone/note", large).status == 413)
        }
    }

    @Test("A payload that is too large is on diagnostics, and counted")
    func tooLarge() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            _ = try connection.ask("POST", "/api/d/dataset/create?client=admin", "{}")
            let socket = try Socket(to: house.port, "/api/d/socket?client=me")
            socket.send(#"{"request":"dataset/watch"}"#)
            _ = try socket.next { $0.json["request"]?.asString == "dataset/watch" }
            let large = #"{"x":"\#(String(repeating: "x", count: 100_000))"}"#
            let answer = try connection.ask("POST", "/api/d/live/-/-/-/-/phone/note", large)
            #expect(answer.status == 413 && answer.error == "tooLarge", "\(answer)")
            let seen = try socket.next { $0.json["topic"] == "diagnostics/update" }.json["payload"]?.asObject
            #expect(seen?["error"] == "tooLarge" && seen?["topic"] == "d/-/-/-/-/phone/note", "\(String(describing: seen))")
            let metrics = try connection.ask("GET", "/metrics").text
            #expect(metrics.contains("geomatch_updates_total{dataset=\"d\",outcome=\"refused\"} 1\n"), "\(metrics)")
        }
    }

    @Test("A batch is answered for each element, in order, as a list or as lines")
    func batch() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let items = [
                #"{"topic":"d/-/-/-/-/a/position","payload":{"lat":1,"lon":1}}"#,
                #"{"topic":"e/-/-/-/-/a/position","payload":{}}"#,
                #"{"topic":"d/-/-/-/-/b/position","payload":{"lat":100,"lon":1}}"#, #"{"payload":{}}"#,
                #"{"topic":"d/-/-/-/-/a/position","payload":null}"#,
            ]
            for body in ["[" + items.joined(separator: ",") + "]", items.joined(separator: "\n") + "\n\n"] {
                let answer = try connection.ask("POST", "/api/d/live", body)
                let results = answer.json["result"]?.asObject?["items"]?.asArray ?? []
                #expect(results.map { $0.asObject?["error"] == nil } == [true, false, false, false, true], "\(answer)")
                #expect(try snapshot(connection).isEmpty)
            }
            let many = (0..<1000).map { #"{"topic":"d/-/-/-/-/m\#($0)/position","payload":{"lat":1,"lon":1}}"# }
            let answer = try connection.ask("POST", "/api/d/live", many.joined(separator: "\n"))
            #expect(answer.json["result"]?.asObject?["items"]?.asArray?.count == 1000)
            #expect(try connection.ask("POST", "/api/d/live", "[{").status == 400)
        }
    }

    @Test("Who may publish what is the configuration's, as at the broker")
    func access() async throws {
        try await withHTTP({
            $0.writes = { _, client in client == "all" ? .all : client == "own" ? .own : .none }
        }) { house in
            let connection = try Connection(to: house.port)
            func status(_ client: String, _ location: String) throws -> Int {
                try connection.ask("POST", "/api/d/live/-/-/-/-/\(location)/position?client=\(client)", #"{"lat":1,"lon":1}"#)
                    .status
            }
            #expect(try status("all", "x") == 200 && status("own", "own") == 200)
            #expect(try status("own", "x") == 401 && status("none", "none") == 401)
            func phone(_ client: String, of user: String) throws -> Int {
                try connection.ask(
                    "POST", "/in/owntracks?dataset=d&client=\(client)",
                    #"{"_type":"location","lat":43.7,"lon":7.4,"topic":"owntracks/\#(user)/phone"}"#
                ).status
            }
            #expect(try phone("all", of: "x") == 200 && phone("own", of: "own") == 200)
            #expect(try phone("own", of: "x") == 401 && phone("none", of: "none") == 401)
        }
    }

    @Test("A phone is on the map with a URL: OwnTracks, Overland and Traccar Client")
    func phones() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let ownTracks = #"{"_type":"location","lat":43.7,"lon":7.4,"tst":1700000000,"vel":36,"topic":"owntracks/ann/phone"}"#
            let first = try connection.ask("POST", "/in/owntracks?dataset=d", ownTracks)
            #expect(first.status == 200 && first.text == "[]", "\(first)")
            let named = try connection.ask(
                "POST", "/in/owntracks?dataset=d", #"{"_type":"location","lat":43.7,"lon":7.4}"#,
                fields: ["X-Limit-U": "bob", "X-Limit-D": "info"])
            #expect(named.text == "[]")
            #expect(try connection.ask("POST", "/in/owntracks?dataset=d", "nonsense").text == "[]")
            let overland = try connection.ask(
                "POST", "/in/overland?dataset=d",
                #"{"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":[7.4,43.7]},"properties":{"timestamp":"2023-11-14T22:13:20Z","device_id":"o","speed":-1,"battery_level":0.5}}]}"#
            )
            #expect(overland.status == 200 && overland.text == #"{"result":"ok"}"#, "\(overland)")
            let osmAnd = try connection.ask(
                "GET", "/in/osmand?dataset=d&id=t&lat=43.7&lon=7.4&timestamp=1700000000&speed=10&bearing=90&batt=80")
            #expect(osmAnd.status == 200 && osmAnd.body.isEmpty, "\(osmAnd)")
            let json = try connection.ask(
                "POST", "/in/osmand?dataset=d",
                #"{"device_id":"j","location":{"timestamp":"2023-11-14T22:13:20Z","coords":{"latitude":43.7,"longitude":7.4,"speed":2}}}"#
            )
            #expect(json.status == 200, "\(json)")
            var speeds: [String: Double?] = [:]
            for state in try snapshot(connection) {
                speeds[state["itemId"]?.asString ?? ""] = state["properties"]?.asObject?["speed"]?.asDouble
            }
            #expect(speeds.keys.sorted() == ["ann/phone", "bob/info", "j", "o", "t"], "\(speeds)")
            #expect(speeds["ann/phone"] == 10 && speeds["j"] == 2 && speeds["o"] == .some(nil))
            #expect((speeds["t"].flatMap { $0 } ?? 0).rounded() == 5)
            #expect(try connection.ask("GET", "/in/osmand?id=t&lat=1&lon=1").status == 400)
            for (path, body) in [
                ("osmand?dataset=d&lat=1&lon=1", nil), ("osmand?dataset=d&id=t&lat=x&lon=1", nil), ("overland?dataset=d", "{}"),
            ] {
                // An error would be answered by the same request again, for ever.
                #expect(try connection.ask(body == nil ? "GET" : "POST", "/in/" + path, body).status == 200, "\(path)")
            }
        }
    }

    @Test("Times, names and ids are read as the apps document and send them")
    func phonesInTheirOwnWords() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let feature =
                #"{"type":"Feature","geometry":{"type":"Point","coordinates":[7.4,43.7]},"properties":{"timestamp":"2015-10-01T08:00:00-0700","device_id":"","unique_id":"o"}}"#
            _ = try connection.ask("POST", "/in/overland?dataset=d", #"{"locations":[\#(feature)]}"#)
            _ = try connection.ask("GET", "/in/osmand?dataset=d&id=t&lat=43.7&lon=7.4&timestamp=2015-10-01%2015:00:00")
            _ = try connection.ask(
                "POST", "/in/osmand?dataset=d", #"{"device_id":7,"location":{"coords":{"latitude":43.7,"longitude":7.4}}}"#)
            // OwnTracks on Android.
            _ = try connection.ask(
                "POST", "/in/owntracks?dataset=d", #"{"_type":"location","lat":43.7,"lon":7.4,"topic":"owntracks/http/xl"}"#,
                fields: ["X-Limit-U": "jane", "X-Limit-D": "pixel"])
            var times: [String: Int64] = [:]
            for state in try snapshot(connection) {
                times[state["itemId"]?.asString ?? ""] = state["timestamp"]?.asInt64
            }
            #expect(times.keys.sorted() == ["7", "jane/pixel", "o", "t"])
            #expect(times["o"] == 1_443_711_600_000 && times["t"] == 1_443_711_600_000)
        }
    }

    @Test("A compressed body is refused by name")
    func compressed() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            for path in ["/api/d/device/create", "/couch/d/note:1"] {
                let answer = try connection.ask(
                    path.hasPrefix("/api") ? "POST" : "PUT", path, "nonsense", fields: ["Content-Encoding": "gzip"])
                #expect(answer.status == 415 && answer.text.contains("gzip"), "\(answer)")
            }
        }
    }

    @Test("A body of less than 1 MiB may hold as many updates as fit")
    func manySmall() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            // What is no update is answered soonest.
            let body = "[" + [String](repeating: "0", count: 24_000).joined(separator: ",") + "]"
            let answer = try connection.ask("POST", "/api/d/live", body)
            #expect(answer.status == 200 && answer.text.matches(of: /"code":400/).count == 24_000)
        }
    }

    @Test("What OwnTracks sends without naming a device is on diagnostics")
    func unnamedPhones() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            _ = try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#)
            for body in [
                #"{"_type":"location","lat":43.7,"lon":7.4}"#, #"{"_type":"location","lat":1,"lon":1,"topic":"owntracks/a"}"#,
                #"{"_type":"location""#,
            ] {
                // One of a kind is reported at once, others of the same second later.
                let socket = try Socket(to: house.port, "/api/d/socket?client=me")
                socket.send(#"{"request":"dataset/watch"}"#)
                _ = try socket.next { $0.json["request"]?.asString == "dataset/watch" }
                #expect(try connection.ask("POST", "/in/owntracks?dataset=d", body).text == "[]")
                let seen = try socket.next { $0.json["topic"] == "diagnostics/update" }.json["payload"]?.asObject
                #expect(seen?["topic"] == "in/owntracks" && seen?["error"] == "invalid", "\(String(describing: seen))")
            }
        }
    }
}
