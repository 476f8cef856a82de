import Datasets
import Foundation
import Testing
import Wire

@testable import HTTPDoor

@Suite("Clients of Matchmore")
struct MatchmoreTests {
    @Test("A phone is created with 201 and the keys that SDKs read, its location null")
    func createsPhone() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let answer = try client.ask(
                "POST", "/devices",
                #"{"deviceType":"MobileDevice","name":"test","platform":"iOS","deviceToken":"token","group":["a","B_1"],"id":"mine","more":{}}"#
            )
            #expect(answer.status == 201, "\(answer)")
            let device = answer.json
            #expect(device["name"] == "test" && device["platform"] == "iOS" && device["deviceToken"] == "token")
            #expect(device["deviceType"] == "MobileDevice" && device["group"] == ["a", "B_1"])
            #expect(device["location"] == .null)
            for name in ["createdAt", "updatedAt"] {
                guard case .integer? = device[name] else {
                    Issue.record("\(name) is no integer: \(answer)")
                    continue
                }
            }
            let id = try #require(device["id"]?.asString)
            #expect(UUID(uuidString: id) != nil && id != "mine")
            let read = try client.ask("GET", "/devices/\(id)")
            #expect(read.status == 200 && read.json == device, "\(read)")
        }
    }

    @Test("A phone that is created with a location has it; one that says little has empty texts, not none")
    func phoneWithLocation() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let phone = try client.create(
                "/devices",
                #"{"deviceType":"MobileDevice","platform":null,"location":{"latitude":0,"longitude":0.5,"horizontalAccuracy":-1}}"#
            )
            #expect(phone["platform"] == "" && phone["deviceToken"] == "" && phone["name"] == "" && phone["group"] == [])
            let location = try #require(phone["location"]?.asObject)
            #expect(location["latitude"]?.asDouble == 0 && location["longitude"]?.asDouble == 0.5)
            #expect(location["altitude"]?.asDouble == 0 && location["horizontalAccuracy"] == nil)
        }
    }

    @Test("Pins and beacons have their own members; UUIDs are in lower case, as phones print them")
    func otherDevices() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pin = try client.create(
                "/devices",
                #"{"deviceType":"PinDevice","name":"pin","location":{"latitude":46.5,"longitude":6.6,"altitude":495}}"#)
            #expect(pin["location"]?.asObject?["altitude"]?.asDouble == 495 && pin["platform"] == nil)
            #expect(try client.ask("POST", "/devices", #"{"deviceType":"PinDevice","name":"pin"}"#).status == 400)
            let uuid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
            let beacon = try client.create(
                "/devices",
                #"{"deviceType":"IBeaconDevice","name":"bacon","proximityUUID":"\#(uuid)","major":13,"minor":3,"location":{"latitude":1,"longitude":2}}"#
            )
            #expect(beacon["proximityUUID"]?.asString == uuid && beacon["major"] == 13 && beacon["minor"] == 3)
            let triples = try client.ask("GET", "/devices/IBeaconTriples")
            #expect(triples.status == 200)
            let triple: JSONObject = [
                "deviceId": beacon["id"] ?? .null, "proximityUUID": .string(uuid), "major": 13, "minor": 3,
            ]
            #expect(triples.list == [.object(triple)], "\(triples)")
        }
    }

    @Test("A device is renamed and gets its token by a patch, which may hold the whole device")
    func patch() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let id = try client.phone()
            let token = try client.ask("PATCH", "/devices/\(id)", #"{"deviceToken":"fcm://testToken"}"#)
            #expect(token.status == 200 && token.json["deviceToken"] == "fcm://testToken" && token.json["name"] == "phone")
            let name = try client.ask(
                "PATCH", "/devices/\(id)",
                #"{"name":"other","deviceType":"MobileDevice","id":"x","platform":"Android","location":null,"createdAt":5}"#)
            #expect(name.status == 200 && name.json["name"] == "other" && name.json["platform"] == "iOS", "\(name)")
            #expect(name.json["id"]?.asString == id)
            let nothing = try client.ask("PATCH", "/devices/\(id)", "{}")
            #expect(nothing.status == 200 && nothing.json["name"] == "other")
            #expect(try client.ask("PATCH", "/devices/\(id)", #"{"name":7}"#).status == 400)
            let long = String(repeating: "n", count: 300)
            #expect(try client.ask("PATCH", "/devices/\(id)", #"{"name":"\#(long)"}"#).status == 403)
            #expect(try client.ask("PATCH", "/devices/nobody", #"{"name":"x"}"#).status == 404)
        }
    }

    @Test("Publications and subscriptions are created with 201, listed, read and deleted")
    func attachments() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let device = try client.phone()
            for (kind, more) in [
                ("publications", #""properties":{"text":"a","number":1.5,"flag":true,"list":["x","y"],"none":null}"#),
                ("subscriptions", #""selector":"","matchTTL":2.5,"matchDTL":10,"pushers":["ws","localhost"]"#),
            ] {
                #expect(try client.ask("GET", "/devices/\(device)/\(kind)").list.isEmpty)
                let object = try client.create(
                    "/devices/\(device)/\(kind)",
                    #"{"worldId":"world","deviceId":"\#(device)","topic":"Test Topic","range":4000,"duration":20.5,\#(more)}"#)
                #expect(object["topic"] == "Test Topic" && object["range"]?.asDouble == 4000 && object["worldId"] == "world")
                #expect(object["deviceId"]?.asString == device && object["duration"]?.asDouble == 20.5)
                guard case .integer? = object["createdAt"] else {
                    Issue.record("\(object)")
                    continue
                }
                if kind == "publications" {
                    #expect(object["properties"] == ["text": "a", "number": 1.5, "flag": true, "list": ["x", "y"]])
                } else {
                    #expect(object["matchTTL"]?.asDouble == 2.5 && object["matchDTL"]?.asDouble == 10 && object["selector"] == "")
                    #expect(object["pushers"] == ["ws", "localhost"])
                }
                let id = try #require(object["id"]?.asString)
                let list = try client.ask("GET", "/devices/\(device)/\(kind)")
                #expect(list.status == 200 && list.list == [.object(object)], "\(list)")
                #expect(try client.ask("GET", "/devices/\(device)/\(kind)/\(id)").json == object)
                let other = try client.phone()
                #expect(try client.ask("GET", "/devices/\(other)/\(kind)/\(id)").status == 404)
                #expect(try client.ask("DELETE", "/devices/\(other)/\(kind)/\(id)").status == 404)
                let deleted = try client.ask("DELETE", "/devices/\(device)/\(kind)/\(id)")
                #expect(deleted.status == 200 && deleted.body.isEmpty, "\(deleted)")
                #expect(try client.ask("GET", "/devices/\(device)/\(kind)/\(id)").status == 404)
            }
            let deleted = try client.ask("DELETE", "/devices/\(device)")
            #expect(deleted.status == 200 && deleted.body.isEmpty)
            #expect(try client.ask("GET", "/devices/\(device)").status == 404)
        }
    }

    @Test("What one client was shown of a device's matches is not shown to another")
    func listsAreApart() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair()
            _ = try client.create(
                "/devices/\(pair.device)/subscriptions?client=admin",
                #"{"worldId":"world","deviceId":"\#(pair.device)","topic":"sampletopic","range":300,"duration":500,"selector":"data2=1"}"#
            )
            try client.move(pair.device)
            for (asker, count) in [("admin", 2), ("http", 1), ("admin", 2)] {
                let list = try client.ask("GET", "/devices/\(pair.device)/matches?client=\(asker)")
                #expect(list.list.count == count, "\(asker): \(list)")
            }
        }
    }

    @Test("A location is answered with 201, and matches are there when it is")
    func matches() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair()
            #expect(try client.ask("GET", "/devices/\(pair.device)/matches").text == "[]")
            let location = try client.create(
                "/devices/\(pair.device)/locations",
                #"{"latitude":54.350115,"longitude":18.558819,"altitude":null,"horizontalAccuracy":1.0,"verticalAccuracy":1.0}"#)
            #expect(location["latitude"]?.asDouble == 54.350115 && location["altitude"]?.asDouble == 0)
            guard case .integer? = location["createdAt"] else { throw Connection.Failure(description: "\(location)") }
            try client.move(pair.device, 54.3501, 18.5501)
            let matches = try client.matches(of: pair.device)
            let match = try #require(matches.first, "none of \(matches.count)")
            #expect(matches.count == 1 && match.keys == ["id", "createdAt", "publication", "subscription"], "\(match)")
            let publication = try #require(match["publication"]?.asObject)
            let subscription = try #require(match["subscription"]?.asObject)
            #expect(publication["id"]?.asString == pair.publication && publication["worldId"] == "world")
            #expect(publication["properties"]?.asObject?["data2"] == 1)
            #expect(publication["location"]?.asObject?["latitude"]?.asDouble == 54.35)
            #expect(subscription["id"]?.asString == pair.subscription && subscription["deviceId"]?.asString == pair.device)
            #expect(
                subscription["location"]?.asObject?["altitude"]?.asDouble == 0 && subscription["selector"] == "data1='value1'")
            let id = try #require(match["id"]?.asString)
            let one = try client.ask("GET", "/devices/\(pair.device)/matches/\(id)")
            #expect(one.status == 200 && one.json == match, "\(one)")
            let device = try client.ask("GET", "/devices/\(pair.device)")
            #expect(device.json["location"]?.asObject?["latitude"]?.asDouble == 54.3501)
            for path in ["/devices/\(pair.device)/matches/ping", "/devices/\(pair.device)/matches/\(UUID())"] {
                let absent = try client.ask("GET", path)
                #expect(
                    absent.status == 404 && absent.json["code"] == 404 && absent.json["message"]?.asString != nil, "\(absent)")
            }
            let other = try client.phone()
            #expect(try client.ask("GET", "/devices/\(other)/matches/\(id)").status == 404)
        }
    }

    @Test("The newest hundred matches are listed, oldest first, regardless of who asked before")
    func newestMatches() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let pair = try client.pair(matchTTL: 0)
            for step in 0..<3 { try client.move(pair.device, 54.35 + Double(step) * 1e-5) }
            let three = try client.matches(of: pair.device)
            let again = try client.matches(of: pair.device)
            #expect(three.count == 3 && three == again)
            for step in 0..<101 { try client.move(pair.device, 54.3501 + Double(step) * 1e-5) }
            let matches = try client.matches(of: pair.device)
            let times = matches.compactMap { $0["createdAt"]?.asInt64 }
            #expect(matches.count == 100 && times == times.sorted())
            let latest = matches.last?["subscription"]?.asObject?["location"]?.asObject?["latitude"]?.asDouble
            #expect(abs((latest ?? 0) - 54.3511) < 1e-9, "\(latest ?? 0)")
        }
    }

    @Test("A proximity event is a sighting with its distance: the beacon's publication matches within range")
    func proximity() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let beacon = try client.create(
                "/devices",
                #"{"deviceType":"IBeaconDevice","name":"b","proximityUUID":"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0","major":1,"minor":2}"#
            )
            let beaconID = try #require(beacon["id"]?.asString)
            _ = try client.create(
                "/devices/\(beaconID)/publications", #"{"topic":"t","range":2,"duration":500,"properties":{}}"#)
            let phone = try client.phone()
            _ = try client.create("/devices/\(phone)/subscriptions", #"{"topic":"t","range":1,"duration":500,"selector":""}"#)
            func event(_ distance: Double) throws -> JSONObject {
                try client.create(
                    "/devices/\(phone)/proximityEvents", #"{"deviceId":"\#(beaconID)","distance":\#(distance)}"#)
            }
            let far = try event(50)
            #expect(far["deviceId"]?.asString == beaconID && far["distance"]?.asDouble == 50)
            #expect(UUID(uuidString: far["id"]?.asString ?? "") != nil)
            guard case .integer? = far["createdAt"] else { throw Connection.Failure(description: "\(far)") }
            #expect(try client.matches(of: phone).isEmpty)
            _ = try event(2.5)
            let match = try #require(try client.matches(of: phone).first)
            #expect(match["publication"]?.asObject?["location"] == .null)
            for (body, status) in [
                (#"{"deviceId":"\#(phone)","distance":1}"#, 404), (#"{"deviceId":"nobody","distance":1}"#, 404),
                (#"{"distance":1}"#, 400), (#"{"deviceId":"\#(beaconID)","distance":"1"}"#, 400),
                (#"{"deviceId":"\#(beaconID)","distance":-1}"#, 400),
            ] {
                let answer = try client.ask("POST", "/devices/\(phone)/proximityEvents", body)
                #expect(answer.status == status && answer.json["code"]?.asInt64 == Int64(status), "\(body): \(answer)")
            }
        }
    }

    @Test("Bodies of a wrong type are 400, what breaks a rule of a publication or a subscription is 403, another world 403")
    func wrongBodies() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let device = try client.phone()
            let wrong: [(String, String, Int)] = [
                ("/devices", "", 400), ("/devices", "[]", 400), ("/devices", "{", 400), ("/devices", "null", 400),
                ("/devices", #"{"name":"x"}"#, 400), ("/devices", #"{"deviceType":"Car"}"#, 400),
                ("/devices", #"{"deviceType":7}"#, 400), ("/devices", #"{"deviceType":"MobileDevice","name":{}}"#, 400),
                ("/devices", #"{"deviceType":"MobileDevice","group":"a"}"#, 400),
                ("/devices", #"{"deviceType":"MobileDevice","group":["a-b"]}"#, 400),
                ("/devices", #"{"deviceType":"MobileDevice","location":{}}"#, 400),
                ("/devices", #"{"deviceType":"MobileDevice","location":{"latitude":91,"longitude":0}}"#, 400),
                ("/devices", #"{"deviceType":"MobileDevice","location":[1,2]}"#, 400),
                ("/devices", #"{"deviceType":"IBeaconDevice","proximityUUID":"no","major":1,"minor":2}"#, 400),
                ("/devices", #"{"deviceType":"MobileDevice","worldId":"another"}"#, 403),
                ("/devices", "{\"deviceType\":\"Mobile\u{1}Device\"}", 400),
                ("/devices/\(device)/publications", #"{"topic":"t","range":"50","duration":10,"properties":{}}"#, 400),
                ("/devices/\(device)/publications", #"{"range":50,"duration":10,"properties":{}}"#, 400),
                ("/devices/\(device)/publications", #"{"topic":"t","range":50,"duration":10,"properties":[]}"#, 400),
                ("/devices/\(device)/publications", #"{"topic":"t","range":50,"duration":10,"properties":{"a":{"b":1}}}"#, 400),
                ("/devices/\(device)/publications", #"{"topic":"t","range":50,"duration":-1,"properties":{}}"#, 403),
                ("/devices/\(device)/publications", #"{"topic":"t","range":0,"duration":10,"properties":{}}"#, 403),
                (
                    "/devices/\(device)/publications", #"{"worldId":"w2","topic":"t","range":5,"duration":10,"properties":{}}"#,
                    403
                ),
                ("/devices/\(device)/publications", #"{"worldId":7,"topic":"t","range":5,"duration":10,"properties":{}}"#, 400),
                ("/devices/\(device)/subscriptions", #"{"topic":"t","range":50,"duration":10,"selector":7}"#, 400),
                ("/devices/\(device)/subscriptions", #"{"topic":"t","range":50,"duration":10,"selector":"a = "}"#, 403),
                ("/devices/\(device)/subscriptions", #"{"topic":"t","range":50,"duration":10,"pushers":"ws"}"#, 400),
                ("/devices/\(device)/subscriptions", #"{"topic":"t","range":50,"duration":10,"pushers":[7]}"#, 400),
                ("/devices/\(device)/subscriptions", #"{"topic":"t","range":50,"duration":10,"pushers":["gopher://x"]}"#, 403),
                ("/devices/nobody/subscriptions", #"{"topic":"t","range":50,"duration":10,"selector":""}"#, 404),
                ("/devices/\(device)/locations", #"{"latitude":"54","longitude":18}"#, 400),
                ("/devices/\(device)/locations", #"{"latitude":540,"longitude":18}"#, 400),
                ("/devices/\(device)/locations", #"{"latitude":1e999,"longitude":18}"#, 400),
                ("/devices/nobody/locations", #"{"latitude":54,"longitude":18}"#, 404),
                ("/devices/\(device)/proximityEvents", "7", 400),
            ]
            for (path, body, status) in wrong {
                let answer = try client.ask("POST", path, body)
                #expect(answer.status == status, "\(path) \(body): \(answer)")
                #expect(answer.json["code"]?.asInt64 == Int64(status) && answer.json["message"]?.asString != nil, "\(answer)")
            }
            let large = #"{"deviceType":"MobileDevice","name":"\#(String(repeating: "n", count: 300_000))"}"#
            #expect(try client.ask("POST", "/devices", large).status == 413)
            let deep = String(repeating: "[", count: 10_000)
            #expect(try client.ask("POST", "/devices", deep).status == 400)
        }
    }

    @Test("Unknown paths are 404, methods that a path has not are 405, with the old error object")
    func paths() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port)
            let device = try client.phone()
            for path in [
                "", "/", "/users", "/devices/\(device)/rooms", "/devices/\(device)/matches/1/2", "/devices/\(device)/rooms/1",
            ] {
                let answer = try client.ask("GET", path)
                #expect(answer.status == 404 && answer.json["code"] == 404, "\(path): \(answer)")
            }
            for (method, path) in [("GET", "/devices"), ("PUT", "/devices/\(device)"), ("DELETE", "/devices/\(device)/matches")] {
                let answer = try client.ask(method, path)
                #expect(answer.status == 405 && answer.json["code"] == 405 && answer.fields["allow"] != nil, "\(answer)")
            }
            for id in ["%2F", "%00", "-", "%F0%9F%98%80", String(repeating: "x", count: 400), "a%3Fb"] {
                let answer = try client.ask("GET", "/devices/\(id)")
                #expect([400, 404].contains(answer.status) && answer.json["message"] != nil, "\(id): \(answer)")
            }
        }
    }

    @Test("The world is the key's dataset, another client's device is forbidden, a wrong key is 401")
    func keys() async throws {
        try await withHTTP({
            $0.trustsLoopback = false
            $0.keys = [
                FileKey(key: "museum-key", dataset: "museum", client: "ann"),
                FileKey(key: "guide-key", dataset: "museum", client: "ben"),
                FileKey(key: "park-key", dataset: "park", client: "ann"), FileKey(key: "any-key", dataset: "*", client: "root"),
            ]
        }) { house in
            var ann = try OldClient(to: house.port)
            ann.key = "museum-key"
            let id = try ann.phone()
            let publication = try ann.create(
                "/devices/\(id)/publications", #"{"worldId":"museum","topic":"t","range":5,"duration":10,"properties":{}}"#)
            #expect(publication["worldId"] == "museum")
            var ben = ann
            ben.key = "guide-key"
            for (method, path) in [
                ("GET", "/devices/\(id)"), ("DELETE", "/devices/\(id)"), ("GET", "/devices/\(id)/matches"),
                ("GET", "/devices/\(id)/publications"),
            ] { #expect(try ben.ask(method, path).status == 403, "\(method) \(path)") }
            #expect(try ben.ask("POST", "/devices/\(id)/locations", #"{"latitude":1,"longitude":2}"#).status == 403)
            #expect(try ben.ask("POST", "/devices/\(id)/publications", #"{"topic":"t","range":5,"duration":1}"#).status == 403)
            var park = ann
            park.key = "park-key"
            _ = try park.phone()
            #expect(try park.ask("GET", "/devices/\(id)").status == 404)
            var all = ann
            all.key = "any-key"
            #expect(try all.ask("GET", "/devices/\(id)?dataset=museum").status == 403)
            #expect(try all.ask("GET", "/devices/\(id)").status == 401)
            for key in ["nonsense", OldClient.token("museum"), ""] {
                var stranger = ann
                stranger.key = key
                let answer = try stranger.ask("GET", "/devices/\(id)")
                #expect(answer.status == 401 && answer.json["code"] == 401 && answer.json["message"] != nil, "\(answer)")
            }
            ann.key = nil
            #expect(try ann.ask("GET", "/devices/\(id)").status == 401)
            #expect(try ann.ask("GET", "/devices/\(id)?key=museum-key").status == 200)
            #expect(try ann.ask("GET", "/devices/\(id)?key=museum-key&dataset=park").status == 403)
        }
    }

    @Test("On this machine any token names its world, or the query does; pages of others are kept out")
    func trusted() async throws {
        try await withHTTP { house in
            let client = try OldClient(to: house.port, world: "3232f756-393b-49c6-8122-30e52946b9ed")
            let id = try client.phone()
            let own = try client.connection.ask("GET", "/api/3232f756-393b-49c6-8122-30e52946b9ed/device/get?id=\(id)")
            #expect(own.json["result"]?.asObject?["owner"] == "http", "\(own)")
            let plain = try OldClient(to: house.port, world: nil)
            #expect(try plain.ask("GET", "/devices/\(id)?dataset=3232f756-393b-49c6-8122-30e52946b9ed").status == 200)
            #expect(try plain.ask("GET", "/devices/\(id)").status == 401)
            for key in [
                "no token", "a.b", "a.e30.c", "a.\(Data(#"{"sub":7}"#.utf8).base64EncodedString()).c", OldClient.token("a/b"),
            ] {
                var wrong = client
                wrong.key = key
                #expect(try wrong.ask("GET", "/devices/\(id)").status == 401, "\(key)")
            }
            let elsewhere = try client.ask("GET", "/devices/\(id)", fields: ["Origin": "https://evil.example"])
            #expect(elsewhere.status == 403 && elsewhere.json["code"] == 403, "\(elsewhere)")
            let rebound = try client.connection.ask(
                "GET", "/v5/devices/\(id)", host: "evil.example", fields: ["api-key": client.key ?? ""])
            #expect(rebound.status == 403)
        }
    }

    @Test("Pages of any origin may ask, with a preflight that has no key, and without credentials")
    func crossOrigin() async throws {
        try await withHTTP({
            $0.trustsLoopback = false
            $0.keys = [FileKey(key: "museum-key", dataset: "museum", client: "ann")]
        }) { house in
            var client = try OldClient(to: house.port)
            client.key = nil
            let page = ["Origin": "https://shop.example"]
            let preflight = try client.ask(
                "OPTIONS", "/devices/1/publications",
                fields: page.merging([
                    "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "api-key,content-type",
                ]) { $1 })
            #expect((200...204).contains(preflight.status) && preflight.fields["access-control-allow-origin"] == "*")
            let headers = preflight.fields["access-control-allow-headers"]?.lowercased() ?? ""
            #expect(headers.contains("api-key") && headers.contains("content-type"), "\(preflight)")
            for method in ["GET", "POST", "PATCH", "DELETE"] {
                #expect(preflight.fields["access-control-allow-methods"]?.contains(method) == true, "\(method)")
            }
            #expect(preflight.fields["access-control-allow-credentials"] == nil)
            #expect(try client.ask("GET", "/devices/1", fields: page).fields["access-control-allow-origin"] == "*")
            client.key = "museum-key"
            let made = try client.ask("POST", "/devices", #"{"deviceType":"MobileDevice"}"#, fields: page)
            #expect(made.status == 201 && made.fields["access-control-allow-origin"] == "*", "\(made)")
            let ours = try client.connection.ask("GET", "/healthz", fields: page)
            #expect(ours.fields["access-control-allow-origin"] == nil)
        }
    }
}
