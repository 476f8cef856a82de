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

    @Test("A path or a method that is not there is told as an error object, with what is allowed")
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
            #expect(put.status == 405 && put.fields["allow"] == "GET, POST", "\(put)")
            #expect(try connection.ask("GET", "/api/%FF/device/get").status == 400)
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
}
