import Foundation
import Testing

@testable import geomatch

@Suite("geomatch eval hours")
struct HoursEvaluationTests {
    private let day = ["--from", "2026-01-05T00:00", "--to", "2026-01-06T00:00"]

    @Test("Arguments give the intervals, the canonical text and the warnings")
    func arguments() throws {
        #expect(
            try CommandLineRun(["eval", "hours", "Mo 8:00-12:00; Mo 12:00-13:00 unknown \"lunch?\""] + day).finish()
                == Said(
                    out:
                        #"{"intervals":[{"from":"2026-01-05T12:00","to":"2026-01-05T13:00","state":"unknown","comment":"lunch?"}],"#
                        + #""normalised":"Mo 08:00-12:00; Mo 12:00-13:00 unknown \"lunch?\"","warnings":[]}"# + "\n",
                    error: "", code: 0))
        let placed = try CommandLineRun(
            [
                "eval", "hours", "Mo sunrise-sunset; PH off; SH off", "--zone", "Australia/Sydney", "--lat", "-33.87", "--lon",
                "151.21",
            ]
                + [
                    "--ph", "2026-01-12,2026-01-19", "--sh", "2026-01-24/2026-02-03", "--from", "2026-01-05T00:00", "--to",
                    "2026-02-10T00:00",
                ]
        ).finish()
        #expect(placed.out.components(separatedBy: "\"state\":\"open\"").count == 3)
        #expect(placed.out.hasSuffix("\"warnings\":[]}\n"))
        #expect(placed.code == 0)
    }

    @Test("Only times, dates, zones and coordinates are refused; hours that are not understood are unknown")
    func refused() throws {
        let rows: [(words: [String], error: String)] = [
            (
                ["--from", "2026-01-05", "--to", "2026-01-06T00:00"],
                "invalid (400) from: `from` must be a time YYYY-MM-DDTHH:MM, not `2026-01-05`\n"
            ),
            (["--from", "2026-01-06T00:00", "--to", "2026-01-05T00:00"], "invalid (400) to: `to` must not be before `from`\n"),
            (
                ["--from", "2026-01-06T00:00", "--to", "2036-01-15T00:00"],
                "invalid (400) to: `to` must be at most 3660 days after `from`\n"
            ),
            (
                day + ["--zone", "Mars/Base"],
                "invalid (400) zone: `zone` must be a time zone of the IANA database, not `Mars/Base`\n"
            ),
            (day + ["--ph", "2026-02-30"], "invalid (400) ph: `ph` must hold dates YYYY-MM-DD, not `2026-02-30`\n"),
            (day + ["--sh", "2026-02-10/2026-02-01"], "invalid (400) sh: a range in `sh` ends before it begins\n"),
            (
                day + ["--lat", "91", "--lon", "0"],
                "invalid (400) latitude: `latitude` must be from -90 to 90 and `longitude` from -180 to 180\n"
            ),
        ]
        for row in rows {
            #expect(
                try CommandLineRun(["eval", "hours", "24/7"] + row.words).finish() == Said(out: "", error: row.error, code: 1))
        }
        let summer = try CommandLineRun(["eval", "hours", "summer"] + day).finish()
        #expect(summer.code == 0)
        #expect(
            summer.out.hasPrefix(
                #"{"intervals":[{"from":"2026-01-05T00:00","to":"2026-01-06T00:00","state":"unknown"}],"normalised":"summer","#))
        #expect(try CommandLineRun(["eval", "hours", "24/7"]).finish().code == 64)
    }

    @Test("Lines are answered one by one")
    func lines() throws {
        let input = #"""
            {"id":1,"value":"8-18","from":"2026-01-05T00:00","to":"2026-01-06T00:00"}
            {"id":2,"value":"PH off","from":"2026-01-05T00:00","to":"2026-01-06T00:00","ph":["2026-01-05"],"sh":[["2026-01-05","2026-01-06"]]}
            {"id":3,"value":"sunrise-sunset","from":"2026-01-05T00:00","to":"2026-01-06T00:00","zone":null,"latitude":null}
            {"id":4,"value":7,"from":"2026-01-05T00:00","to":"2026-01-06T00:00"}
            {"id":5,"value":"24/7","from":"2026-01-05T00:00","to":"2026-01-05T00:00","ph":"2026-01-05"}
            {"id":6,"value":"24/7","from":"2026-01-05T00:00","to":"2026-01-05T00:00","sh":["2026-01-05"]}
            {"id":7,"value":"24/7","from":"2026-01-05T00:00","to":"2026-01-05T00:00","latitude":"x","longitude":1}
            """#
        let expected = #"""
            {"id":1,"result":{"intervals":[{"from":"2026-01-05T08:00","to":"2026-01-05T18:00","state":"open"}],"normalised":"08:00-18:00","warnings":["hours without minutes are read as full hours"]}}
            {"id":2,"result":{"intervals":[],"normalised":"PH off","warnings":[]}}
            {"id":3,"result":{"intervals":[{"from":"2026-01-05T00:00","to":"2026-01-06T00:00","state":"unknown"}],"normalised":"sunrise-sunset","warnings":["times of the sun are unknown without coordinates"]}}
            {"id":4,"error":{"code":400,"error":"invalid","message":"`value` must be a string","field":"value"}}
            {"id":5,"error":{"code":400,"error":"invalid","message":"`ph` must be an array","field":"ph"}}
            {"id":6,"error":{"code":400,"error":"invalid","message":"`sh` must hold ranges [from,to] of dates YYYY-MM-DD","field":"sh"}}
            {"id":7,"error":{"code":400,"error":"invalid","message":"`latitude` and `longitude` must be two numbers","field":"latitude"}}

            """#
        #expect(try geomatch("eval", "hours", "-", input: input) == Said(out: expected, error: "", code: 0))
    }
}
