import Foundation
import Testing

@testable import HTTPDoor

@Suite("The page's files")
struct PageTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Sources/HTTPDoor/Page/Files").path).sorted()
        }
    }

    @Test("The page is served without a key, with a policy that lets it ask nobody else, and not in a frame")
    func document() async throws {
        try await withHTTP({ $0.trustsLoopback = false }) { house in
            let answer = try Connection(to: house.port).ask("GET", "/", host: "map.example")
            #expect(answer.status == 200 && answer.text.hasPrefix("<!doctype html>"))
            #expect(answer.fields["content-type"] == "text/html; charset=utf-8")
            let policy = answer.fields["content-security-policy"] ?? ""
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"), "\(policy)")
            #expect(policy.contains("frame-ancestors 'none'") && answer.fields["x-frame-options"] == "DENY")
            #expect(answer.fields["x-content-type-options"] == "nosniff" && answer.fields["cache-control"] == "no-cache")
            #expect(try Connection(to: house.port).ask("POST", "/", "{}").status == 405)
            #expect(try Connection(to: house.port).ask("GET", "/page/none.mjs").status == 404)
        }
    }

    @Test("Every file of the page is served, and all of it is at most 60 KiB on the wire")
    func size() async throws {
        let names = try Self.names
        try await withHTTP { house in
            let connection = try Connection(to: house.port)
            var bytes = 0
            for name in names {
                let path = name == "index.html" ? "/" : "/page/\(name)"
                let plain = try connection.ask("GET", path)
                let file = try Data(contentsOf: Self.root.appending(path: "Sources/HTTPDoor/Page/Files/\(name)"))
                #expect(plain.status == 200 && plain.text == String(decoding: file, as: UTF8.self), "\(name)")
                let packed = try connection.ask("GET", path, fields: ["Accept-Encoding": "br;q=1, gzip"])
                #expect(packed.fields["content-encoding"] == "gzip" || file.count < 500, "\(name)")
                bytes += Int(packed.fields["content-length"] ?? "") ?? 100_000
                bytes += packed.fields.reduce(40) { $0 + $1.key.utf8.count + $1.value.utf8.count + 4 }
                let tag = try #require(packed.fields["etag"])
                // The same for both codings, so a weak one.
                #expect(tag.hasPrefix("W/\"") && plain.fields["etag"] == tag, "\(name)")
                let strong = String(tag.dropFirst(2))
                for (known, status) in [
                    ("\"x\", \(tag)", 304), (strong, 304), ("W/\"x\",\(tag)", 304), ("*", 304), ("W/\"x\"", 200),
                ] {
                    let answer = try connection.ask("GET", path, fields: ["If-None-Match": known])
                    #expect(answer.status == status, "\(name) \(known)")
                }
                #expect(
                    try connection.ask("GET", path, fields: ["Accept-Encoding": "gzip;q=0"]).fields["content-encoding"] == nil)
            }
            #expect(bytes <= 60 << 10, "\(bytes) bytes")
            #expect(names.count > 10)
        }
    }

    @Test("Tiles come from the one place that is configured, or from a file of the daemon's")
    func tiles() async throws {
        let there = TileSource(url: "https://{s}.tiles.example/{z}/{x}/{y}.png", attribution: "© us")
        #expect(there.origin == "https://*.tiles.example")
        #expect(TileSource(url: "https://a.example; script-src *", attribution: "").origin == nil)
        try await withHTTP({ $0.page.tiles = there }) { house in
            let connection = try Connection(to: house.port)
            let policy = try connection.ask("GET", "/").fields["content-security-policy"] ?? ""
            #expect(policy.contains("img-src 'self' data: https://*.tiles.example;"), "\(policy)")
            let settings = try connection.ask("GET", "/page/settings.json").json
            #expect(settings["tiles"]?.asObject?["attribution"] == "© us")
            #expect(try connection.ask("GET", "/page/tiles/1/0/0").status == 404)
        }
        try await withHTTP({ configuration in
            configuration.page.tiles = TileSource(attribution: "") { zoom, column, row in
                [zoom, column, row] == [2, 1, 3] ? [0xFF, 0xD8, 1] : nil
            }
        }) { house in
            let connection = try Connection(to: house.port)
            let tile = try connection.ask("GET", "/page/tiles/2/1/3")
            #expect(tile.status == 200 && tile.fields["content-type"] == "image/jpeg")
            #expect(try connection.ask("GET", "/page/tiles/2/1/-3").status == 404)
            #expect(try connection.ask("GET", "/page/tiles/2/1/4").status == 404)
        }
    }
}
