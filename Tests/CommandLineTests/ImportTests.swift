import Foundation
import SeededRandom
import Testing
import Wire

@testable import geomatch

@Suite("Importing structure")
struct ImportTests {
    private func run(_ arguments: [String]) throws -> Said { try CommandLineRun(arguments).finish() }

    private func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = NSTemporaryDirectory() + "geomatch-import-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try body(folder)
    }

    /// Level, path and floor index of each feature, in order.
    private func lines(_ features: [JSONValue]) -> [String] {
        features.map { feature in
            let properties = feature.member("properties")
            let parents = properties?.member("parents")
            let above = ["venue", "building", "floor", "room"].compactMap { parents?.member($0)?.asString }
            let path = (above + [properties?.member("id")?.asString ?? ""]).joined(separator: "/")
            let index = properties?.member("floorIndex")?.asInt64.map { " \($0)" } ?? ""
            return
                "\(properties?.member("level")?.asString ?? "") \(path)\(index) \(feature.member("geometry") == nil ? "-" : "+")"
        }
    }

    static let byID = [
        "venue ve +", "building ve/bu +", "floor ve/bu/l0 0 +", "floor ve/bu/l1 1 +", "room ve/bu/l0/u1 +",
        "room ve/bu/l0/u2 +", "room ve/bu/l1/u3 +", "location ve/bu/l0/fi +", "location ve/bu/l0/u2/am +",
        "location ve/bu/l0/u1/oc -",
    ]

    @Test("An IMDF archive becomes structure, the same from its folder and from its zip file")
    func archive() throws {
        try withFolder { folder in
            for (name, text) in IMDFSample.files {
                try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            }
            let source = try StructureSource(path: folder, naming: .ids)
            #expect(lines(source.features) == Self.byID)
            #expect(source.notes.count == 3 && source.unreadable.isEmpty)
            let building = source.features[1].serialised()
            #expect(String(decoding: building, as: UTF8.self).contains("7.4205"), "the footprint on the ground")
            try Data(IMDFSample.zip()).write(to: URL(fileURLWithPath: folder + "/mall.zip"))
            let packed = try StructureSource(path: folder + "/mall.zip", naming: .ids)
            #expect(packed.features == source.features)
        }
    }

    @Test("Names serve as ids where they are distinct")
    func names() throws {
        try withFolder { folder in
            try Data(IMDFSample.zip()).write(to: URL(fileURLWithPath: folder + "/mall.zip"))
            let source = try StructureSource(path: folder + "/mall.zip", naming: .names)
            #expect(
                lines(source.features) == [
                    "venue Mall +", "building Mall/North +", "floor Mall/North/Ground 0 +", "floor Mall/North/First 1 +",
                    "room Mall/North/Ground/Shop +", "room Mall/North/Ground/u2 +", "room Mall/North/First/u3 +",
                    "location Mall/North/Ground/fi +", "location Mall/North/Ground/u2/am +",
                    "location Mall/North/Ground/Shop/Bakery -",
                ])
            #expect(source.notes.contains { $0.contains("Shop") })
        }
    }

    @Test("Damaged zip files are refused or read, never more than that")
    func damagedZip() throws {
        var random = SplitMix64.forTest()
        let whole = IMDFSample.zip()
        for _ in 0..<4000 {
            var bytes = whole
            for _ in 0..<random.below(4) {
                // Most damage goes where the sizes and offsets are.
                let place = random.chance(50) ? max(0, bytes.count - 1 - random.below(900)) : random.below(bytes.count)
                bytes[place] = random.chance(30) ? 0xFF : UInt8.random(in: 0...255, using: &random)
            }
            if random.chance(10) { bytes.removeLast(random.below(bytes.count)) }
            guard let archive = try? ZipArchive(bytes) else { continue }
            for entry in archive.entries { _ = try? archive.contents(of: entry, limit: 1 << 20) }
        }
    }

    @Test("An entry that unpacks to more than its directory says, or than is allowed, is refused")
    func bomb() throws {
        let text = String(repeating: "0", count: 1 << 20)
        // The second file is the deflated one.
        var bytes = IMDFSample.zip(["a": "x", "b": text])
        #expect(bytes.count < 4096)
        let archive = try ZipArchive(bytes)
        #expect(try archive.contents(of: archive.entries[1]).count == 1 << 20)
        #expect(throws: ZipArchive.Failure.self) { try archive.contents(of: archive.entries[1], limit: 1 << 19) }
        // The size in the directory is its word against the data.
        let size = try #require(bytes.indices.last { Array(bytes[$0...].prefix(4)) == [0, 0, 0x10, 0] })
        bytes[size + 2] = 1
        let liar = try ZipArchive(bytes)
        #expect(throws: ZipArchive.Failure.self) { try liar.contents(of: liar.entries[1]) }
    }

    @Test(
        "Features are found in any FeatureCollection, and what is none is refused",
        arguments: [
            (#"{"type":"FeatureCollection","features":[]}"#, 0),
            (#" { "features" : [ {"a":"]}"} , 1,[2,{}] ] , "x":{"y":[1]} } "#, 3),
            (#"{"features":["a\"b",null,true]}"#, 3), ("\u{FEFF}{\"features\":[{}]}", 1), ("", nil), ("[]", nil), ("{}", nil),
            (#"{"features":{}}"#, nil), (#"{"type":"Feature","features":[]}"#, nil), (#"{"features":[{}"#, nil),
            (#"{"features":[{"a]}"#, nil), (#"{"features":["\"#, nil),
        ])
    func scanner(_ row: (text: String, count: Int?)) {
        #expect((try? FeatureScanner.features(of: Array(row.text.utf8)))?.count == row.count)
    }

    @Test("Whatever the bytes, the scanner ends, and what it finds in whole files is what the parser finds")
    func scannerFuzz() throws {
        var random = SplitMix64.forTest()
        let parts = ["{", "}", "[", "]", "\"", "\\", ",", ":", "1", "features", "\"features\":[", "\"type\":"]
        for text in IMDFSample.files.values where text.contains("features") {
            let expected = try JSONValue.parse(text).member("features")?.asArray
            let found = try FeatureScanner.features(of: Array(text.utf8)).map { try $0.get() }
            #expect(found == expected)
            for _ in 0..<200 { _ = try? FeatureScanner.features(of: random.damaged(text, with: parts, times: 4)) }
        }
        for _ in 0..<3000 { _ = try? FeatureScanner.features(of: random.text(of: parts, upTo: 30)) }
    }

    @Test("Requests hold as many features as fit, and none is lost")
    func batches() {
        var random = SplitMix64.forTest()
        for _ in 0..<200 {
            let sizes = (0..<random.below(60)).map { _ in 1 + random.below(random.pick([10, 50_000, 250 << 10])) }
            let batches = StructureImporter.batches(of: sizes)
            #expect(batches.flatMap(Array.init) == Array(sizes.indices))
            for batch in batches {
                #expect(sizes[batch].reduce(0) { $0 + $1 + 1 } <= StructureImporter.requestBytesMax + 1 || batch.count == 1)
            }
        }
    }

    @Test("The command sends requests one after the other, adds up their replies, and its exit code tells of refusals")
    func command() throws {
        let filler = String(repeating: "x", count: 100_000)
        let features = (0..<6).map {
            #"{"type":"Feature","properties":{"level":"room","id":"r\#($0)","note":"\#(filler)"},"geometry":null}"#
        }
        let text = #"{"type":"FeatureCollection","features":[\#(features.joined(separator: ",")),{"a":01}]}"#
        try withFolder { folder in
            let file = folder + "/city.geojson"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            try withDaemon(
                filters: ["geomatch/d/admin/request/#"],
                answer: { daemon, message, correlation in
                    let request = try? JSONValue.parse(message.payload)
                    let count = request?.member("structure")?.member("features")?.asArray?.count ?? 0
                    let id = request?.member("requestId")?.asString ?? ""
                    daemon.publish(
                        "geomatch/d/admin/reply",
                        #"{"requestId":"\#(id)","request":"dataset/import","result":{"imported":\#(count - 1),"replaced":1,"refused":[],"warnings":["w"]}}"#,
                        correlation: correlation)
                }
            ) { broker, daemon in
                let said = try run([
                    "--broker", broker.url, "--dataset", "d", "--client", "admin", "import", "structure", file,
                ])
                #expect(said.out == "imported 3, replaced 3\n")
                #expect(said.error.contains("refused: ") && said.error.contains("warning: w"))
                #expect(said.code == 1)
                #expect(daemon.received(3).count == 3)
            }
        }
    }

    @Test("What cannot be read ends with the usage code and says why")
    func unreadable() throws {
        try withFolder { folder in
            for (name, content) in [("no.geojson", ""), ("empty.zip", "PK\u{3}\u{4}"), ("x.geojson", #"{"type":"Topology"}"#)] {
                if name != "no.geojson" { try content.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8) }
                let said = try run(["import", "structure", "\(folder)/\(name)"])
                #expect(said.code == 64 && said.error.contains(name))
            }
            #expect(try run(["import", "structure", folder]).error.contains("venue.geojson"))
        }
    }
}
