import Datasets
import Testing
import Wire

@testable import HTTPDoor

@Suite("Requests over HTTP")
struct RequestTests {
    private static let pin = #"{"deviceType":"PinDevice","id":"pin","location":{"latitude":43.73,"longitude":7.42}}"#

    @Test("A request is answered with the reply object of every door, and its status")
    func reply() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let made = try connection.ask("POST", "/api/d/device/create", Self.pin)
            #expect(made.status == 200 && made.fields["content-type"] == "application/json", "\(made)")
            #expect(made.json["request"]?.asString == "device/create")
            #expect(made.json["result"]?.asObject?["id"]?.asString == "pin")
            // The same connection, and what is wrong in its own terms.
            let missing = try connection.ask("POST", "/api/d/device/get", #"{"requestId":"7","id":"none"}"#)
            #expect(missing.status == 404 && missing.error == "notFound" && missing.json["requestId"] == "7", "\(missing)")
            #expect(try connection.ask("POST", "/api/d/device/get", "[").status == 400)
            #expect(try connection.ask("POST", "/api/d/device/list", "").status == 200)
            #expect(try connection.ask("POST", "/api/none/device/list", "{}").error == "unknownDataset")
        }
    }

    @Test("What changes nothing can be got, with text as it stands and anything else as JSON")
    func get() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            _ = try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice","id":"7 é/%"}"#)
            let found = try connection.ask("GET", "/api/d/device/get?id=7+%C3%A9%2F%25&client=http&key")
            // An empty key is one all the same.
            #expect(found.status == 401, "\(found)")
            let got = try connection.ask("GET", "/api/d/device/get?id=7+%C3%A9%2F%25&client=http")
            #expect(got.json["result"]?.asObject?["id"]?.asString == "7 é/%", "\(got)")
            #expect(try connection.ask("GET", "/api/d/device/list?limit=1").status == 200)
            let wrong = try connection.ask("GET", "/api/d/device/list?limit=one")
            #expect(wrong.status == 400 && wrong.error == "invalid" && wrong.text.contains("limit"), "\(wrong)")
            #expect(try connection.ask("GET", "/api/d/device/list?nonsense=1").status == 400)
            let head = try connection.ask("HEAD", "/api/d/device/list")
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(try connection.ask("GET", "/healthz").status == 200)
        }
    }

    @Test("A query parameter that says nothing at its path is refused, with the nearest one that does")
    func queryParameters() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let device = #"{"deviceType":"MobileDevice","id":"a"}"#
            let (position, line) = (#"{"lat":1,"lon":1}"#, #"{"topic":"d/-/-/-/-/a/position","payload":{"lat":1,"lon":1}}"#)
            for (method, path, body, field, advice) in [
                ("POST", "/api/d/device/create?clinet=me", device, "clinet", "did you mean `client`?"),
                ("POST", "/api/d/device/get?client=me&id=a", "", "id", "in its body"),
                ("POST", "/api/d/live?clients=me", line, "clients", "did you mean `client`?"),
                ("POST", "/api/d/live/-/-/-/-/a/position?clinet=me", position, "clinet", "did you mean `client`?"),
                ("DELETE", "/api/d/live/-/-/-/-/a/position?at=1", "", "at", "it takes `client`, `key`"),
                ("GET", "/api/d/events?client=me&topic=match/%23", "", "topic", "did you mean `topics`?"),
                ("GET", "/api/d/socket?clinet=me", "", "clinet", "did you mean `client`?"),
            ] {
                let answer =
                    path.contains("socket")
                    ? try Socket.upgrade(try Connection(to: house.port), path) : try connection.ask(method, path, body)
                #expect(answer.status == 400 && answer.error == "invalid", "\(path): \(answer)")
                #expect(answer.json["error"]?.asObject?["field"]?.asString == field && answer.text.contains(advice), "\(answer)")
            }
            #expect(try connection.ask("GET", "/api/d/device/list").error == "unknownDataset")
            #expect(try connection.ask("POST", "/api/d/device/create?client=me", device).status == 200)
            // What comes from elsewhere brings parameters of its own.
            #expect(try connection.ask("GET", "/couch/d?client=me&nonce=1").status == 200)
            #expect(try connection.ask("GET", "/in/osmand?dataset=d&id=a&lat=1&lon=1&nonce=1").status == 200)
            #expect(try connection.ask("GET", "/v5/devices/IBeaconTriples?dataset=d&nonce=1").status == 200)
        }
    }

    @Test("A path or a method that is not there is reported as an error object, with what is allowed")
    func paths() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            for path in ["/nothing", "/api", "/api/d", "/api/d/device", "/api/d/device/get/more", "/api/d/device/nothing"] {
                let answer = try connection.ask("POST", path, "{}")
                #expect(answer.status == 404 && answer.error == "notFound", "\(path): \(answer)")
            }
            let got = try connection.ask("GET", "/api/d/device/create?id=1")
            #expect(got.status == 405 && got.error == "invalid" && got.fields["allow"] == "POST", "\(got)")
            let put = try connection.ask("PUT", "/api/d/device/get", "{}")
            #expect(put.status == 405 && put.fields["allow"] == "GET, HEAD, POST", "\(put)")
            #expect(try connection.ask("GET", "/api/%FF/device/get").status == 400)
        }
    }

    @Test("What is unknown, too large or no JSON is answered as over MQTT, under its requestId, and counted")
    func refusedByCore() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            _ = try connection.ask("POST", "/api/d/dataset/create?client=admin", "{}")
            let long = String(repeating: "x", count: 300_000)
            let rows: [(method: String, path: String, body: String?, status: Int, error: String)] = [
                ("POST", "device/nothing", #"{"requestId":"0"}"#, 404, "notFound"),
                ("GET", "such/nonsense?requestId=1", nil, 404, "notFound"),
                ("POST", "device/list", #"{"requestId":"2","x":"\#(long)"}"#, 413, "tooLarge"),
                ("GET", "device/list?limit=x&requestId=3", nil, 400, "invalid"),
            ]
            for (number, row) in rows.enumerated() {
                let answer = try connection.ask(row.method, "/api/d/\(row.path)", row.body)
                #expect(answer.status == row.status && answer.error == row.error, "\(answer)")
                #expect(answer.json["requestId"]?.asString == "\(number)", "\(answer)")
                let name = row.path.prefix { $0 != "?" }
                #expect(answer.json["request"]?.asString == String(name), "\(answer)")
            }
            let spaces = String(repeating: " ", count: 300_000)
            #expect(try connection.ask("POST", "/api/d/device/get", spaces).status == 413)
            let metrics = try connection.ask("GET", "/metrics").text
            for line in [
                #"{dataset="d",resource="unknown",verb="unknown",outcome="notFound"} 2"#,
                #"{dataset="d",resource="device",verb="list",outcome="tooLarge"} 1"#,
                #"{dataset="d",resource="device",verb="list",outcome="invalid"} 1"#,
            ] { #expect(metrics.contains("geomatch_requests_total\(line)\n"), "\(line) in \(metrics)") }
        }
    }

    @Test("An Idempotency-Key is the requestId where the body has none: the first reply comes again")
    func idempotency() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let fields = ["Idempotency-Key": "k\"1"]
            let first = try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#, fields: fields)
            let second = try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#, fields: fields)
            #expect(first.status == 200 && first.body == second.body, "\(first)")
            #expect(first.json["requestId"] == "k\"1")
            let own = try connection.ask("POST", "/api/d/device/list", #"{"requestId":"own"}"#, fields: fields)
            #expect(own.json["requestId"] == "own", "\(own)")
            #expect(
                try connection.ask("POST", "/api/d/device/list", " { } ", fields: ["Idempotency-Key": "n"]).json["requestId"]
                    == "n")
            let long = ["Idempotency-Key": String(repeating: "x", count: 65)]
            #expect(try connection.ask("POST", "/api/d/device/list", "{}", fields: long).status == 400)
        }
    }

    @Test("The daemon is healthy while its loop turns, and ready while it is online")
    func health() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            #expect(try connection.ask("GET", "/healthz", host: "somewhere.example").status == 200)
            #expect(try connection.ask("GET", "/readyz").status == 200)
            _ = await house.door.onCore { $0.core.doorClosed() }
            house.core.health.note("the broker is away")
            let answer = try connection.ask("GET", "/readyz")
            #expect(answer.status == 503 && answer.text.contains("the broker is away"), "\(answer)")
            #expect(answer.fields["retry-after"] != nil)
            #expect(try connection.ask("POST", "/healthz", "").fields["allow"] == "GET, HEAD")
        }
    }

    @Test("A client is bounded by what it may do, as over any door")
    func administrators() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            #expect(try connection.ask("GET", "/api/d/dataset/list").status == 401)
            #expect(try connection.ask("GET", "/api/d/dataset/list?client=admin").status == 200)
            let named = try connection.ask("GET", "/api/d/dataset/list", fields: ["Geomatch-Client": "admin"])
            #expect(named.status == 200)
            #expect(try connection.ask("GET", "/api/d/dataset/list?client=status").error == "unauthorized")
        }
    }

    @Test("Following the feed changes something and cannot be got")
    func follow() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            _ = try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#)
            for verb in ["follow?since=0", "unfollow"] {
                let got = try connection.ask("GET", "/api/d/changes/\(verb)")
                #expect(got.status == 405 && got.fields["allow"] == "POST", "\(got)")
            }
            #expect(try connection.ask("POST", "/api/d/changes/follow", #"{"since":0}"#).status == 200)
            #expect(try connection.ask("POST", "/api/d/changes/unfollow").status == 200)
        }
    }

    @Test("OPTIONS says what a path offers, and 404 where there is none")
    func options() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            for (path, methods) in [
                ("/api/d/device/list", "GET, HEAD, POST, OPTIONS"), ("/api/d/device/create", "POST, OPTIONS"),
                ("/api/d/live/-/-/-/-/a/position", "POST, DELETE, OPTIONS"), ("/api/d/events", "GET, OPTIONS"),
                ("/healthz", "GET, HEAD, OPTIONS"), ("/", "GET, HEAD, OPTIONS"), ("/in/osmand", "GET, POST, OPTIONS"),
                ("/couch/d", "GET, HEAD, PUT, POST, OPTIONS"), ("/couch/d/_changes", "GET, HEAD, POST, OPTIONS"),
                ("/couch/d/note:1", "GET, HEAD, PUT, DELETE, OPTIONS"), ("/v5/devices?dataset=d", "POST, OPTIONS"),
                ("/v5/devices/1?dataset=d", "GET, PATCH, DELETE, HEAD, OPTIONS"), ("/pusher/v5/ws/1", "GET, OPTIONS"),
            ] {
                let answer = try connection.ask("OPTIONS", path)
                #expect(answer.status == 204 && answer.fields["allow"] == methods, "\(path): \(answer)")
            }
            for path in ["/nothing", "/api/d/foo/bar", "/couch/d/_nothing", "/page/nothing", "/in/x", "/mqtt", "/v5/x?dataset=d"]
            {
                #expect(try connection.ask("OPTIONS", path).status == 404, "\(path)")
            }
        }
    }

    @Test("The code of an error is the status also where no name of an error has it")
    func codes() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let long = try Connection(to: house.port)
            long.write("GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 17 << 10))\r\n\r\n")
            for (answer, name) in [
                (try connection.ask("PUT", "/api/d/device/list"), "invalid"),
                (try connection.ask("GET", "/api/d/socket"), "invalid"),
                (try long.answer(), "tooLarge"),
            ] {
                #expect([405, 426, 431].contains(answer.status) && answer.error == name, "\(answer)")
                #expect(answer.json["error"]?.asObject?["code"]?.asInt64 == Int64(answer.status), "\(answer)")
            }
        }
    }

    @Test("A path that cannot be read is refused in the shape that the clients of its first level read")
    func unreadable() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let old = try connection.ask("GET", "/v5/devices/%ff")
            #expect(old.status == 400 && old.json["code"] == 400 && old.json["error"] == nil, "\(old)")
            #expect(old.fields["access-control-allow-origin"] == "*")
            let couch = try connection.ask("GET", "/couch/%ff")
            #expect(couch.status == 400 && couch.json["error"] == "bad_request", "\(couch)")
            let ours = try connection.ask("GET", "/api/%ff/device/list")
            #expect(ours.status == 400 && ours.error == "invalid" && ours.fields["access-control-allow-origin"] == nil, "\(ours)")
        }
    }
}
