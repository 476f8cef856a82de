import Foundation
import Geodesy
import Ranging
import SeededRandom
import Testing

@testable import geomatch

@Suite("geomatch eval ranging and beacons calibrate")
struct RangingTests {
    @Test(
        "readings give metres and a band",
        arguments: [
            (["-59"], #"{"distance":1,"proximity":"near"}"#), (["-86"], #"{"distance":10,"proximity":"far"}"#),
            (["--n", "2", "-79"], #"{"distance":10,"proximity":"far"}"#),
            (["--tx-power", "-69", "-69"], #"{"distance":1,"proximity":"near"}"#),
            (["0"], #"{"proximity":"unknown"}"#),
            // The loudest and the weakest are left out.
            (["-59", "-20", "-59", "-59", "-110"], #"{"distance":1,"proximity":"near"}"#),
            (["--filter", "none", "-59", "-86"], #"{"distance":10,"proximity":"far"}"#),
        ])
    func arguments(_ words: [String], _ out: String) throws {
        #expect(try CommandLineRun(["eval", "ranging"] + words).finish() == Said(out: out + "\n", error: "", code: 0))
    }

    @Test("lines are answered, and what is wrong is said")
    func lines() throws {
        let input = """
            {"id":1,"samples":[{"rssi":-50,"timestamp":0},{"rssi":-59,"timestamp":30000}]}
            {"id":2,"samples":[]}
            {"id":3,"samples":[{"rssi":-59}],"txPower":0}
            {"id":4,"samples":[{"rssi":"x"}]}
            {"id":5,"samples":[{"rssi":-59}],"filter":"magic"}
            {"id":6}
            """
        let said = try geomatch("eval", "ranging", "-", input: input)
        let lines = said.out.split(separator: "\n").map(String.init)
        #expect(lines.count == 6)
        #expect(lines[0] == #"{"id":1,"result":{"distance":1,"proximity":"near"}}"#)
        #expect(lines[1] == #"{"id":2,"result":{"proximity":"unknown"}}"#)
        for (line, field) in zip(lines[2...], ["txPower", "samples[0].rssi", "filter", "samples"]) {
            #expect(line.contains(#""error":"invalid""#) && line.contains(#""field":"\#(field)""#), "\(line)")
        }
    }

    @Test("a walk gives each receiver its exponent and its offset")
    func calibrates() async throws {
        var random = SplitMix64.forTest()
        var text = "gateway,rssi,distance\n"
        for (gateway, n, offset) in [("one", 2.0, 0.0), ("two", 3.0, 6.0)] {
            for step in 0..<200 {
                let metres = 0.5 + Double(step) / 20
                let rssi = -59 - offset - 10 * n * log10(metres) + Double.random(in: -3...3, using: &random)
                text += "\(gateway),\(rssi),\(metres)\n"
            }
        }
        text += "three,-60,1\nthree,5,1\n"
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("walk-\(UUID().uuidString).csv").path
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let said = try geomatch("--json", "beacons", "calibrate", file)
        #expect(said.code == 0 && said.error.contains("line 403: rssi must be below 0 dBm"))
        let walk = try CalibrationWalk(Array(text.utf8), plan: nil)
        let results = try await walk.samples { _ in throw CommandFailure.internal("not asked") }.map {
            Calibration.fit($0.samples)
        }
        #expect(results.count == 3 && results[2] == nil)
        #expect(abs((results[0]?.n ?? 0) - 2) < 0.15 && abs(results[0]?.rssiOffset ?? 9) < 1)
        #expect(abs((results[1]?.n ?? 0) - 3) < 0.15 && abs((results[1]?.rssiOffset ?? 0) - 6) < 1)
        #expect(said.out.hasPrefix(#"{"gateways":[{"gateway":"one","n":"#))
    }

    @Test("a walk in metres needs to know where the gateways are")
    func plans() async throws {
        let text = "x_m,y_m,rssi_1,rssi_2\n" + (0..<20).map { "\($0),0,\(-50 - $0),\n" }.joined()
        #expect(throws: CommandFailure.self) { try CalibrationWalk(Array(text.utf8), plan: nil) }
        #expect(throws: CommandFailure.self) {
            try CalibrationWalk(Array(text.utf8), plan: Array("gateway,x_m,y_m\n1,0,0\n".utf8))
        }
        let walk = try CalibrationWalk(Array(text.utf8), plan: Array("gateway,x_m,y_m\n1,0,0\n2,1,1\n".utf8))
        let samples = try await walk.samples { _ in throw CommandFailure.internal("not asked") }
        #expect(samples.count == 1 && samples[0].samples.count == 20 && samples[0].samples[3].distance == 3)
    }

    @Test("a plan is turned to lie as its gateways do, and one that is mirrored is no plan of theirs")
    func frames() throws {
        let plane = LocalPlane(around: Position(latitude: 52.23, longitude: 21.01))
        let plan = [(0.0, 0.0), (8, 0), (3, 5)].map { LocalPlane.Point(x: $0.0, y: $0.1) }
        func gateways(_ turned: (LocalPlane.Point) -> LocalPlane.Point) -> [(plan: LocalPlane.Point, site: CalibrationWalk.Place)]
        {
            plan.map {
                let site = plane.position(turned($0))
                return ($0, (site.latitude, site.longitude))
            }
        }
        let frame = try #require(PlanFrame(gateways { LocalPlane.Point(x: 7 - $0.y, y: $0.x - 2) }))
        let east = frame.turned(LocalPlane.Point(x: 0, y: -1))
        #expect(abs(east.x - 1) < 0.01 && abs(east.y) < 0.01)
        #expect(PlanFrame(gateways { LocalPlane.Point(x: -$0.x, y: $0.y) }) == nil)
        #expect(PlanFrame(Array(gateways { $0 }.prefix(1))) == nil)
    }
}
