import SeededRandom
import Testing

@testable import geomatch

@Suite("Traces")
struct TraceTests {
    private func points(_ trace: Trace) -> [String] {
        trace.points.map { point in
            let rest = [point.altitude, point.accuracy].map { $0.map { " \($0)" } ?? "" }.joined()
            return "\(trace.devices[point.device]) \(point.timestamp) \(point.latitude) \(point.longitude)\(rest)"
        }
    }

    @Test("CSV is read by the names of its header, and bad rows by their line")
    func csv() throws {
        var trace = try CSVTrace.read(
            #"""
            \#u{FEFF}Device,trip,timestamp,lat,lon,altitude,acc\#r
            bus,1,2026-01-26T15:57:02Z,53.4,-2.9,,5\#r
            "a, ""b""",,1769443021,1.5,2,100,
            c,1,1769443021500,1,2,,

            d,1,2026-01-26 15:57:02,1,2,,
            e,1,2026-01-26T16:57:02+01:00,1,2,,
            bad,1,yesterday,1,2,,
            bad,1,1769443021,91,2,,
            bad,1,1769443021,1,,,
            ,1,1769443021,1,2,,
            bad,1,1769443021
            bad,"1,1769443021,1,2,,
            bad,1,,1,2,,
            """#.utf8)
        trace.sort()
        #expect(
            points(trace) == [
                "a, \"b\" 1769443021000 1.5 2.0 100.0", "c 1769443021500 1.0 2.0", "bus 1769443022000 53.4 -2.9 5.0",
                "d 1769443022000 1.0 2.0", "e 1769443022000 1.0 2.0",
            ])
        #expect(trace.refusedCount == 7)
        #expect(
            trace.refusals == [
                Trace.Refusal(
                    line: 8,
                    reason: "`timestamp` must be milliseconds since 1970 UTC or RFC 3339 text with a zone, not \"yesterday\""),
                Trace.Refusal(line: 9, reason: "`latitude` must be a latitude from -90 to 90, not \"91\""),
                Trace.Refusal(line: 10, reason: "`longitude` is required"),
                Trace.Refusal(line: 11, reason: "the device is missing"),
                Trace.Refusal(line: 12, reason: "3 fields, the header has 7"),
                Trace.Refusal(line: 13, reason: "a quoted field is not closed, or the line is not UTF-8"),
                Trace.Refusal(line: 14, reason: "the timestamp is missing"),
            ])
    }

    @Test("A time that cannot be read is called as its file calls it")
    func timeNames() throws {
        let csv = try CSVTrace.read("device,ts,lat,lon\na,yesterday,1,2\n".utf8)
        #expect(csv.refusals.first?.reason.hasPrefix("`ts` must") == true)
        let gpx = #"<gpx><trk><trkseg><trkpt lat="1" lon="2"><time>yesterday</time></trkpt></trkseg></trk></gpx>"#
        #expect(GPXTrace.read(Array(gpx.utf8), device: "x").refusals.first?.reason.hasPrefix("`time` must") == true)
    }

    @Test(
        "A header without the columns is refused",
        arguments: [
            ("", "there is no header line device,timestamp,latitude,longitude"),
            ("a,b\n", "the header has no column device"),
            ("device,timestamp,lat\nx,1,2", "the header has no column longitude"),
        ])
    func header(_ text: String, _ reason: String) {
        #expect(throws: TraceRowError(reason: reason)) { try CSVTrace.read(text.utf8) }
    }

    @Test("The tracks of a GPX file are devices")
    func gpx() {
        let text = """
            <?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY x "y">]>
            <gpx:gpx xmlns:gpx="http://www.topografix.com/GPX/1/1"><metadata><name>no</name></metadata>
            <wpt lat="0" lon="0"><name>no</name></wpt>
            <trk><!-- <trkpt lat="9" lon="9"> --><name>A &amp; B &#x21;</name><trkseg>
            <trkpt lat="48.1" lon='11.5'><ele> 520.5 </ele><time>2026-01-26T15:57:02Z</time><name>no</name></trkpt>
            <trkpt lon="11.6" lat="48.2"><time>2026-01-26T15:57:01.250Z</time></trkpt>
            <trkpt lat="48.2" lon="11.6"/>
            </trkseg></trk>
            <trk><trkseg><trkpt lat="1" lon="2"><time><![CDATA[2026-01-26T15:57:03Z]]></time></trkpt></trkseg></trk>
            <trk><trkseg><trkpt lat="3" lon="4"><time>2026-01-26T15:57:04Z</time></trkpt><trkpt lat="5"
            """
        var trace = GPXTrace.read(Array(text.utf8), device: "walk")
        trace.sort()
        #expect(
            points(trace) == [
                "A & B ! 1769443021250 48.2 11.6", "A & B ! 1769443022000 48.1 11.5 520.5", "walk 1769443023000 1.0 2.0",
                "walk 1769443024000 3.0 4.0",
            ])
        #expect(trace.refusals == [Trace.Refusal(line: 7, reason: "the timestamp is missing")])
    }

    @Test("GeoJSON Features stand one on a line")
    func geoJSON() {
        let text = """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[11.5,48.1,520]},"properties":{"device":"a","timestamp":1769443022000}}
            \u{1E}{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[11,48]},"properties":{"time":"2026-01-26T15:57:03Z","accuracy":4}}
            {"type":"Feature","geometry":{"type":"LineString","coordinates":[[1,2]]},"properties":{"device":"a"}}
            {"type":"FeatureCollection","features":[]}
            nonsense
            """
        let trace = GeoJSONTrace.read(Array(text.utf8))
        #expect(points(trace) == ["a 1769443022000 48.1 11.5 520.0", "7 1769443023000 48.0 11.0 4.0"])
        #expect(
            trace.refusals == [
                Trace.Refusal(line: 3, reason: "the geometry must be a Point with [longitude, latitude]"),
                Trace.Refusal(line: 4, reason: "the line is no GeoJSON Feature"),
                Trace.Refusal(line: 5, reason: "the line is not JSON"),
            ])
    }

    @Test("Random files are read to their end, and every point is on the earth")
    func random() {
        var random = SplitMix64(seed: SplitMix64.seed())
        let csv = "device,timestamp,lat,lon\na,1769443022,1,2\n\"b\",2026-01-26T15:57:02Z,3,4\n"
        let gpx = """
            <gpx><trk><name>a</name><trkseg><trkpt lat="1" lon="2"><ele>3</ele><time>2026-01-26T15:57:02Z</time></trkpt>
            <trkpt lat="1" lon="2"><time>2026-01-26T15:57:03Z</time></trkpt></trkseg></trk></gpx>
            """
        let json = """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"device":"a","time":1769443022}}
            {"type":"Feature","id":1,"geometry":{"type":"Point","coordinates":[1,2,3]},"properties":{"time":1769443022}}
            """
        let parts = [
            "\"", ",", "\n", "<", ">", "/", "<!--", "]]>", "<![CDATA[", "&#1;", "&amp", "{", "]", "9e99", "-", "é", "\0", "=",
        ]
        var read = 0
        for _ in 0..<1500 {
            let damagedCSV = random.damaged(csv, with: parts, times: 6)
            var traces = [
                GPXTrace.read(random.damaged(gpx, with: parts, times: 6), device: "x"),
                GeoJSONTrace.read(random.damaged(json, with: parts, times: 6)),
            ]
            if let trace = try? CSVTrace.read(damagedCSV) { traces.append(trace) }
            for point in traces.flatMap(\.points) {
                #expect(abs(point.latitude) <= 90 && abs(point.longitude) <= 180 && point.timestamp >= 0)
                read += 1
            }
        }
        #expect(read > 1000)
    }

    @Test("A bar on a terminal, lines elsewhere")
    func progress() {
        #expect(
            ProgressLine(total: 200, isWanted: false, isTerminal: true).text(50, seconds: 2)
                == "\r[#######                       ] 25 %  50/200  25/s\u{1B}[K")
        #expect(
            ProgressLine(total: 200, isWanted: true, isTerminal: false).text(200, seconds: 0.5) == "100 %  200/200  400/s\n")
        #expect(ProgressLine(total: 200, isWanted: false, isTerminal: false).next == .max)
    }
}
