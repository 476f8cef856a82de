import DaemonCore
import Datasets
import Logging
import Testing
import Wire

@testable import HTTPDoor

@Suite("What HTTP says of itself")
struct DescribingTests {
    @Test("Metrics are Prometheus text, or OpenMetrics for who accepts it, and add up")
    func metrics() async throws {
        try await withHTTP({ $0.version = "1.2.3" }) { house in
            let connection = try Connection(to: house.port)
            _ = try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#)
            _ = try connection.ask("POST", "/api/d/device/get", #"{"id":"none"}"#)
            _ = try connection.ask("POST", "/api/d/live/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
            let plain = try connection.ask("GET", "/metrics")
            #expect(plain.fields["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
            for line in [
                "geomatch_updates_total{dataset=\"d\",outcome=\"accepted\"} 1",
                "geomatch_requests_total{dataset=\"d\",resource=\"device\",verb=\"create\",outcome=\"ok\"} 1",
                "geomatch_requests_total{dataset=\"d\",resource=\"device\",verb=\"get\",outcome=\"notFound\"} 1",
                "geomatch_devices{dataset=\"d\"} 2", "geomatch_mqtt_connected 1", "geomatch_build_info{version=\"1.2.3\"} 1",
                "geomatch_request_duration_seconds_count 2", "geomatch_request_duration_seconds_bucket{le=\"+Inf\"} 2",
            ] { #expect(plain.text.contains(line + "\n"), "\(line) in \(plain.text)") }
            let open = try connection.ask("GET", "/metrics", fields: ["Accept": "application/openmetrics-text; version=1.0.0"])
            #expect(open.fields["content-type"]?.hasPrefix("application/openmetrics-text") == true)
            #expect(open.text.hasSuffix("# EOF\n") && open.text.contains("# TYPE geomatch_updates counter\n"))
            #expect(try connection.ask("GET", "/metrics", host: "evil.example").status == 403)
        }
    }

    @Test(
        "Metrics are OpenMetrics where `Accept` names that and likes text no better",
        arguments: [
            (nil, .prometheus), ("", .prometheus), ("*/*", .prometheus), ("text/plain", .prometheus),
            ("application/openmetrics-text", .openMetrics), ("Application/OpenMetrics-Text ; version=1.0.0", .openMetrics),
            ("application/openmetrics-text;q=0", .prometheus), ("application/openmetrics-text; q=0.0, */*", .prometheus),
            ("application/openmetrics-text;q=0.4,text/plain;q=0.5", .prometheus),
            ("text/plain;q=0.5,application/openmetrics-text;q=0.6", .openMetrics),
            ("application/openmetrics-text;q=0.5,text/*", .prometheus),
            ("application/openmetrics-text,text/plain", .openMetrics), ("application/openmetrics-text;q=x", .openMetrics),
            ("application/openmetrics-textual", .prometheus), ("x/application/openmetrics-text", .prometheus),
            // What Prometheus sends.
            (
                "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
                    + "text/plain;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1", .openMetrics
            ),
        ] as [(String?, MetricsText.Format)])
    func metricsFormat(_ accept: String?, _ format: MetricsText.Format) {
        #expect(MetricsText.Format(accept: accept) == format)
    }

    @Test("Metrics are for this machine and administrators, each for the datasets of the key")
    func metricsAccess() async throws {
        let keys = [
            FileKey(key: "admin-key", dataset: "*", client: "admin"), FileKey(key: "one-key-", dataset: "d", client: "admin"),
            FileKey(key: "other-key", dataset: "*", client: "ann"), FileKey(key: "plain-key", dataset: "d", client: "ann"),
            FileKey(key: "chief-key", dataset: "*", client: "chief"), FileKey(key: "chief-of-d", dataset: "d", client: "chief"),
        ]
        let administrators = AccessPatterns(["admin", "e/chief"])
        try await withHTTP(
            {
                $0.isBehindProxy = true
                $0.trustsLoopback = false
                $0.keys = keys
            }, hub: { $0.administrators = administrators }
        ) { house in
            let connection = try Connection(to: house.port)
            for dataset in ["d", "e"] {
                _ = try connection.ask("POST", "/api/\(dataset)/device/create?key=admin-key", #"{"deviceType":"MobileDevice"}"#)
            }
            func datasets(_ key: String) throws -> Set<Substring> {
                let text = try connection.ask("GET", "/metrics?key=\(key)").text
                return Set(text.matches(of: /dataset="([^"]*)"/).map(\.1))
            }
            #expect(try connection.ask("GET", "/metrics").status == 401)
            #expect(try datasets("admin-key") == ["d", "e"])
            #expect(try datasets("one-key-") == ["d"])
            #expect(try datasets("chief-key") == ["e"])
            #expect(try connection.ask("GET", "/metrics?key=chief-of-d").status == 403)
            #expect(try connection.ask("GET", "/metrics?key=other-key").status == 403)
            #expect(try connection.ask("GET", "/metrics?key=plain-key").status == 403)
        }
    }

    @Test("Without datasets in the labels the sums are reported")
    func sums() async throws {
        try await withHTTP({ $0.tellsDatasets = false }) { house in
            let connection = try Connection(to: house.port)
            for dataset in ["a", "b"] {
                _ = try connection.ask("POST", "/api/\(dataset)/device/create", #"{"deviceType":"MobileDevice"}"#)
            }
            let text = try connection.ask("GET", "/metrics").text
            #expect(text.contains("geomatch_devices 2\n") && !text.contains("dataset="), "\(text)")
        }
    }

    @Test("Counters without names of datasets do not fall where one is deleted")
    func deletedDataset() async throws {
        try await withHTTP({ $0.tellsDatasets = false }) { house in
            let connection = try Connection(to: house.port)
            for dataset in ["a", "b"] {
                let made = try connection.ask("POST", "/api/\(dataset)/device/create", #"{"deviceType":"MobileDevice"}"#)
                #expect(made.status == 200, "\(made)")
            }
            func created() throws -> Substring? {
                let text = try connection.ask("GET", "/metrics").text
                return text.firstMatch(of: /geomatch_requests_total\{resource="device",verb="create",outcome="ok"\} (\d+)/)?.1
            }
            let before = try created()
            #expect(before == "2")
            #expect(try connection.ask("POST", "/api/b/dataset/delete?client=admin").status == 200)
            #expect(try created() == "2")
            let text = try connection.ask("GET", "/metrics").text
            #expect(text.contains("geomatch_devices 1\n"), "\(text)")
            for name in ["geomatch_mqtt_inbound_queue_messages", "geomatch_mqtt_subscription_refused"] {
                #expect(text.contains("\n\(name) 0\n"), "\(name)")
            }
        }
    }

    @Test("The counters of a dataset that was deleted and made again go on where they were")
    func recreatedDataset() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            func counters() throws -> [String: Double] {
                let lines = try connection.ask("GET", "/metrics").text.split(separator: "\n")
                let reported = lines.filter { $0.contains("_total{dataset=\"d\"") }.map { $0.split(separator: " ") }
                return Dictionary(uniqueKeysWithValues: reported.map { (String($0[0]), Double($0[1]) ?? -1) })
            }
            func live() throws {
                for _ in 0..<2 {
                    _ = try connection.ask("POST", "/api/d/device/create", #"{"deviceType":"MobileDevice"}"#)
                    _ = try connection.ask("POST", "/api/d/live/-/-/-/-/phone/position", #"{"lat":1,"lon":1}"#)
                }
            }
            try live()
            for round in 0..<2 {
                let before = try counters()
                #expect(before[#"geomatch_updates_total{dataset="d",outcome="accepted"}"#] == Double(2 * (round + 1)))
                #expect(try connection.ask("POST", "/api/d/dataset/delete?client=admin").status == 200)
                #expect(try counters().isEmpty)
                try live()
                let after = try counters()
                for (name, count) in before { #expect(after[name] ?? 0 >= count, "\(name) was \(count)") }
            }
        }
    }

    @Test("The OpenAPI document has every request, with a GET for those that change nothing")
    func openAPI() async throws {
        try await withHTTP { house in
            let answer = try Connection(to: house.port).ask("GET", "/openapi.json", host: "anywhere.example")
            let paths = try #require(answer.json["paths"]?.asObject)
            #expect(paths["/api/{dataset}/match/watch"] == nil, "what only sockets answer")
            func body(of name: String) -> JSONObject? {
                paths["/api/{dataset}/\(name)"]?.asObject?["post"]?.asObject?["requestBody"]?.asObject
            }
            #expect(body(of: "device/get")?["required"] == true && body(of: "device/list")?["required"] == nil)
            for row in RequestTable.rows where !row.isForSocket {
                let path = try #require(paths["/api/{dataset}/\(row.name)"]?.asObject, "\(row.name)")
                #expect(path["post"] != nil && (path["get"] != nil) == !row.changes, "\(row.name)")
            }
            func property(_ name: String, of request: String) -> JSONObject? {
                let schema = body(of: request)?["content"]?.asObject?["application/json"]?.asObject?["schema"]?.asObject
                return schema?["properties"]?.asObject?[name]?.asObject
            }
            #expect(property("mode", of: "subscription/create")?["enum"] == ["once", "visit", nil])
            #expect(property("name", of: "dataset/create")?["maxLength"] == 256)
            #expect(property("range", of: "publication/create")?["maximum"] == 5000)
            #expect(property("group", of: "device/create")?["type"] == ["array", "null"])
            #expect(property("orientation", of: "device/update")?["additionalProperties"] == false)
            #expect(property("proximityID", of: "beacon/monitor") != nil)
            #expect(paths["/couch/{dataset}/_bulk_docs"]?.asObject?["post"] != nil)
            for name in ["place/import", "dataset/import"] {
                let post = paths["/api/{dataset}/\(name)"]?.asObject?["post"]?.asObject
                let content = post?["requestBody"]?.asObject?["content"]?.asObject
                #expect(content?["application/geo+json-seq"] != nil, "\(name)")
            }
            // Every reference leads somewhere.
            for match in answer.text.matches(of: /"#\/components\/([a-z]+)\/([A-Za-z]+)"/) {
                #expect(answer.json["components"]?.asObject?[String(match.1)]?.asObject?[String(match.2)] != nil, "\(match.0)")
            }
        }
    }

    @Test("Every parameter of the catalogue has a type, and a query gives it")
    func types() {
        let named = RequestCatalogue.all.flatMap(\.fields)
        #expect(named.contains { ParameterType.of($0.name) == .number } && ParameterType.of("id") == .text)
        for field in named where field.takes.hasPrefix("true or false") {
            #expect(ParameterType.of(field.name) == .boolean, "\(field.name)")
        }
        for field in named where field.takes.contains("metres") && field.name != "within" {
            let type = ParameterType.of(field.name)
            #expect(type == .number || type == .object, "\(field.name)")
        }
    }

    @Test("A port that is taken is reported with what to do")
    func taken() async throws {
        try await withHTTP { house in
            var configuration = HTTPDoorConfiguration()
            configuration.port = house.port
            let core = Core(
                hub: Hub(HubConfiguration()), seed: (1, 2), logger: Logger(label: "http") { _ in SwiftLogNoOpLogHandler() },
                health: Health())
            let door = HTTPDoor(configuration, core: core, wakeCore: {})
            let failure = await #expect(throws: HTTPService.Failure.self) {
                try await HTTPService(door, log: core.logger).run()
            }
            #expect(failure?.description.contains("--http") == true && failure?.description.contains("\(house.port)") == true)
        }
    }
}
