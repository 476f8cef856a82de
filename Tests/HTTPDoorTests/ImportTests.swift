import SeededRandom
import Testing
import Wire

@testable import HTTPDoor

@Suite("Files over HTTP")
struct ImportTests {
    private func feature(_ id: Int, _ name: String = "Café") -> String {
        #"{"type":"Feature","id":"p\#(id)","geometry":{"type":"Point","coordinates":[7.42,43.73]},"properties":{"name":"\#(name)"}}"#
    }

    private func split(_ form: FeatureSplitter.Form, _ text: String, sizes: () -> Int) throws -> [String] {
        var splitter = FeatureSplitter(form)
        var found: [[UInt8]] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = min(rest.count, max(1, sizes()))
            try Array(rest.prefix(count)).withUnsafeBytes { try splitter.take($0, into: &found) }
            rest = rest.dropFirst(count)
        }
        found += try splitter.finish()
        return found.map { String(decoding: $0, as: UTF8.self).trimmingPrefix(while: \.isWhitespace) }.map(String.init)
    }

    @Test("Features are found wherever the file is cut")
    func splitting() throws {
        var random = SplitMix64.forTest()
        let features = [#"{"a":"]}\"\\","b":[{},[1]]}"#, "{}", #"{"features":[1]}"#, "7"]
        let collection =
            "\u{FEFF} {\"type\":\"FeatureCollection\", \"x\":{\"features\":[\"]\"]},\"features\" : [ "
            + features.joined(separator: " , ") + "], \"y\":\"}\"} \n"
        for _ in 0..<50 {
            let size = { Int.random(in: 1...9, using: &random) }
            #expect(try split(.collection, collection, sizes: size).map { $0.filter { !$0.isWhitespace } } == features)
            #expect(try split(.lines, features.joined(separator: "\n") + "\n\n", sizes: size) == features)
            #expect(try split(.sequence, features.map { "\u{1E}\($0)" }.joined(), sizes: size) == features)
        }
        for wrong in [
            "", "[]", "{\"features\":{}}", "{\"type\":1}", "{\"features\":[1", "{\"features\":[1]}x", "{\"features\":[}]}",
        ] {
            #expect(throws: WireError.self, "\(wrong)") { try split(.collection, wrong, sizes: { 3 }) }
        }
        let long = #"{"features":["\#(String(repeating: "x", count: 300 << 10))"]}"#
        #expect(throws: WireError.self) { try split(.collection, long, sizes: { 4096 }) }
    }

    @Test("A file of many parts is imported as it comes, and the answer sums them all")
    func parts() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let name = String(repeating: "x", count: 200)
            let all = (0..<3000).map { feature($0, name) }
            let file = #"{"type":"FeatureCollection","features":["# + all.joined(separator: ",") + "]}"
            #expect(file.utf8.count > 512 << 10)
            let fields = ["Content-Type": "application/geo+json; charset=utf-8"]
            let answer = try connection.ask("POST", "/api/d/place/import?client=admin", file, fields: fields)
            #expect(answer.status == 200 && answer.json["result"]?.asObject?["imported"] == 3000, "\(answer)")
            let lines = try connection.ask(
                "POST", "/api/d/place/import?client=admin", all.prefix(10).joined(separator: "\n") + "\n{}\n",
                fields: ["Content-Type": "application/x-ndjson"])
            let result = lines.json["result"]?.asObject
            #expect(result?["replaced"] == 10 && result?["refused"]?.asArray?.count == 1, "\(lines)")
        }
    }

    @Test("Parts do not wait for the replies to those before, and stay in order", .timeLimit(.minutes(1)))
    func severalUnderWay() async throws {
        try await withHTTP { house in
            house.diskIsHeld.store(true, ordering: .sequentiallyConsistent)
            let connection = try Connection(to: house.port)
            // The same places in each part: the last is the one that stays.
            let parts = (1...20).map { part in
                (0..<900).map { feature($0, "\(part) " + String(repeating: "x", count: 200)) + "\n" }.joined()
            }
            let file = parts.joined()
            connection.write(
                "POST /api/d/place/import?client=admin HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(file.utf8.count)\r\n"
                    + "Content-Type: application/x-ndjson\r\n\r\n")
            connection.write(parts.prefix(4).joined())
            // One part has less than 900.
            while await house.door.onCore({ _ in house.log.backlog }) ?? .max < 1800 {}
            house.diskIsHeld.store(false, ordering: .sequentiallyConsistent)
            connection.write(parts.dropFirst(4).joined())
            let answer = try connection.answer()
            #expect(answer.json["result"]?.asObject?["imported"] == 900, "\(answer)")
            #expect(answer.json["result"]?.asObject?["replaced"] == 17_100, "\(answer)")
            let kept = try connection.ask("GET", "/api/d/place/get?id=p0")
            #expect(kept.text.contains(#""name":"20 "#), "\(kept)")
        }
    }

    @Test("Where a file breaks all that came before is kept, and reported")
    func broken() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let all = (0..<2000).map { feature($0, String(repeating: "x", count: 200)) }
            let file = #"{"type":"FeatureCollection","features":["# + all.joined(separator: ",") + "]}}"
            let answer = try connection.ask(
                "POST", "/api/d/place/import?client=admin", file, fields: ["Content-Type": "application/geo+json"])
            #expect(answer.status == 400 && answer.error == "invalid", "\(answer)")
            #expect(answer.json["partial"]?.asObject?["imported"] == 2000, "\(answer)")
        }
    }

    @Test("A feature that is no JSON loses none of those before it in its part, in any form")
    func brokenFeature() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let (first, second, third) = (feature(1), feature(2), feature(3))
            let files = [
                ("application/x-ndjson", "\(first)\n\(second)\n\(third.prefix(40))"),
                ("application/x-ndjson", "\(first)\n\(second)\nxx\n\(third)\n"),
                ("application/geo+json-seq", "\u{1E}\(first)\n\u{1E}\(second)\n\u{1E}\(third.prefix(40))"),
                (
                    "application/geo+json",
                    #"{"type":"FeatureCollection","features":[\#(first),\#(second),{"type":Feature},\#(third)]}"#
                ),
            ]
            for (number, (type, file)) in files.enumerated() {
                let answer = try connection.ask(
                    "POST", "/api/d\(number)/place/import?client=admin", file, fields: ["Content-Type": type])
                #expect(answer.status == 400 && answer.error == "invalid", "\(answer)")
                #expect(answer.json["partial"]?.asObject?["imported"] == 2, "\(answer)")
                #expect(answer.text.contains("(feature 2)"), "\(answer)")
                let kept = try connection.ask("GET", "/api/d\(number)/place/get?id=p2")
                #expect(kept.status == 200, "\(kept)")
            }
        }
    }

    @Test("A feature without an id is named by its position in the file, from 0, in whatever part it is")
    func positions() async throws {
        try await withHTTP { house in
            let features = (0..<1000).map { feature($0, String(repeating: "x", count: 200)) + "\n" }.joined()
            let answer = try Connection(to: house.port).ask(
                "POST", "/api/d/place/import?client=admin", features + "{}\nxx\n",
                fields: ["Content-Type": "application/x-ndjson"])
            #expect(answer.status == 400, "\(answer)")
            let refused = answer.json["partial"]?.asObject?["refused"]?.asArray ?? []
            let messages = [refused.first?.asObject?["error"], answer.json["error"]].map {
                $0?.asObject?["message"]?.asString ?? ""
            }
            #expect(messages[0].hasSuffix("(feature 1000)") && messages[1].hasSuffix("(feature 1001)"), "\(answer)")
        }
    }

    @Test("A file is a FeatureCollection with one list of features, as the parameter of a request is")
    func collectionsOnly() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            let (one, two) = (feature(1), feature(2))
            let rows: [(file: String, field: String, kept: JSONValue)] = [
                (#"{"type":"GeometryCollection","features":[\#(one)]}"#, "places.type", 0), (one, "places.type", 0),
                (#"{"type":5,"features":[\#(one)]}"#, "places.type", 0), (#"{"features":[\#(one)]}"#, "places.type", 1),
                (#"{"features":[\#(one)],"type":"FeatureCollections"}"#, "places.type", 1),
                (#"{"type":"FeatureCollection","features":[\#(one)],"features":[\#(two)]}"#, "places.features", 1),
            ]
            for (number, row) in rows.enumerated() {
                let answer = try connection.ask(
                    "POST", "/api/d\(number)/place/import", row.file, fields: ["Content-Type": "application/geo+json"])
                #expect(answer.status == 400 && answer.error == "invalid", "\(answer)")
                #expect(answer.json["error"]?.asObject?["field"]?.asString == row.field, "\(answer)")
                #expect(answer.json["partial"]?.asObject?["imported"] == row.kept, "\(answer)")
            }
            let last = try connection.ask(
                "POST", "/api/d/place/import", #"{"features":[\#(one)],"type" : "FeatureCollection" }"#,
                fields: ["Content-Type": "application/geo+json"])
            #expect(last.status == 200 && last.json["result"]?.asObject?["imported"] == 1, "\(last)")
        }
    }

    @Test("A file under an Idempotency-Key is one request: its first reply comes again, whatever file is sent")
    func idempotency() async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            func send(_ file: String, _ key: String) throws -> Connection.Answer {
                try connection.ask(
                    "POST", "/api/d/place/import", file,
                    fields: ["Content-Type": "application/x-ndjson", "Idempotency-Key": key])
            }
            let file = feature(1) + "\n" + feature(2)
            let first = try send(file, "k")
            #expect(first.status == 200 && first.json["requestId"] == "k", "\(first)")
            #expect(first.json["result"]?.asObject?["imported"] == 2, "\(first)")
            #expect(try send(file, "k").body == first.body)
            #expect(try send(feature(3), "k").body == first.body)
            #expect(try connection.ask("POST", "/api/d/device/list", #"{"requestId":"k"}"#).body == first.body)
            #expect(try send(feature(3), String(repeating: "x", count: 65)).status == 400)
            #expect(try connection.ask("GET", "/api/d/place/get?id=p3").status == 404)
            // A refusal is a first reply, too.
            let refused = try send("\(feature(4))\nxx", "r")
            #expect(refused.status == 400 && refused.json["requestId"] == "r", "\(refused)")
            #expect(refused.json["partial"]?.asObject?["imported"] == 1, "\(refused)")
            let again = try send(feature(5), "r")
            #expect(again.status == 400 && again.body == refused.body, "\(again)")
            #expect(try send(feature(3), "n").json["result"]?.asObject?["imported"] == 1)
        }
    }

    @Test("A file that broke off and is sent again under its key is carried out where it had not been")
    func repeatedAfterBreak() async throws {
        try await withHTTP { house in
            let all = (0..<3000).map { feature($0, String(repeating: "x", count: 200)) + "\n" }
            let cut = try Connection(to: house.port)
            cut.write(
                "POST /api/d/place/import?client=admin HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                    + "Idempotency-Key: k\r\nContent-Type: application/x-ndjson\r\n\r\n")
            let half = all.prefix(2000).joined()
            cut.write("\(String(half.utf8.count, radix: 16))\r\n\(half)\r\nzz\r\n")
            let broken = try cut.answer()
            #expect(broken.status == 400 && broken.json["partial"]?.asObject?["imported"] == 2000, "\(broken)")
            let connection = try Connection(to: house.port)
            _ = try connection.ask(
                "POST", "/api/d/place/import?client=admin",
                #"{"places":{"type":"FeatureCollection","features":[\#(feature(0, "renamed"))]}}"#)
            let answer = try connection.ask(
                "POST", "/api/d/place/import?client=admin", all.joined(),
                fields: ["Content-Type": "application/x-ndjson", "Idempotency-Key": "k"])
            let result = answer.json["result"]?.asObject
            let (imported, replaced) = (result?["imported"]?.asInt64 ?? 0, result?["replaced"]?.asInt64 ?? 0)
            // Of the part in which it broke off, some were there.
            #expect(imported + replaced == 3000 && replaced < 1000, "\(answer)")
            let kept = try connection.ask("GET", "/api/d/place/get?id=p0")
            #expect(kept.text.contains("renamed"), "\(kept)")
        }
    }

    @Test("While a file is being imported under a key another one waits for it", .timeLimit(.minutes(1)))
    func twoUnderOneKey() async throws {
        try await withHTTP { house in
            let fields = ["Content-Type": "application/x-ndjson", "Idempotency-Key": "k"]
            let (first, second) = (try Connection(to: house.port), try Connection(to: house.port))
            let file = feature(1) + "\n"
            first.write(
                "POST /api/d/place/import HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(file.utf8.count)\r\n"
                    + "Idempotency-Key: k\r\nContent-Type: application/x-ndjson\r\n\r\n")
            while house.door.imports.withLock({ $0.isEmpty }) { await Task.yield() }
            let refused = try second.ask("POST", "/api/d/place/import", feature(2), fields: fields)
            #expect(refused.status == 503 && refused.fields["retry-after"] != nil, "\(refused)")
            first.write(file)
            let answer = try first.answer()
            #expect(answer.json["result"]?.asObject?["imported"] == 1, "\(answer)")
            #expect(try second.ask("POST", "/api/d/place/import", feature(2), fields: fields).body == answer.body)
        }
    }

    @Test(
        "Where the stream of a file breaks all that came before is kept, and reported",
        arguments: ["zz\r\n", "ffffffffffffffffff\r\n"])
    func brokenStream(_ rest: String) async throws {
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            connection.write(
                "POST /api/d/place/import?client=admin HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                    + "Content-Type: application/x-ndjson\r\n\r\n")
            let features = (0..<10).map { feature($0) + "\n" }.joined()
            connection.write("\(String(features.utf8.count, radix: 16))\r\n\(features)\r\n\(rest)")
            let answer = try connection.answer()
            #expect(answer.status == 400 && answer.error == "invalid", "\(answer)")
            #expect(answer.json["partial"]?.asObject?["imported"] == 10, "\(answer)")
            #expect(connection.ends())
        }
    }
}
