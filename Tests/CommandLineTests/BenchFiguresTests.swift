import Testing
import Wire

@testable import geomatch

@Suite("What geomatch bench tells")
struct BenchFiguresTests {
    @Test(
        "A share is the nearest rank of what was measured",
        arguments: [
            (1, 0.5, 1), (1, 0.99, 1), (2, 0.5, 1), (2, 0.51, 2), (100, 0.5, 50), (100, 0.99, 99), (101, 0.99, 100),
            (100, 1, 100),
        ] as [(Int, Double, Double)])
    func ranks(_ row: (count: Int, share: Double, milliseconds: Double)) {
        var durations = BenchFigures.Durations()
        for number in (1...row.count).reversed() { durations.add(Int64(number) * 1_000_000) }
        #expect(durations.milliseconds(within: row.share) == row.milliseconds)
    }

    @Test("Lines and JSON tell the same, and nothing where nothing came")
    func output() {
        var figures = BenchFigures()
        figures.objects = 4
        figures.objectSeconds = 0.0184
        figures.updatesSent = 3
        figures.updateSeconds = 0.5
        figures.updates.add(1_250_000)
        figures.updates.add(2_500_000)
        figures.matchesExpected = 1
        #expect(
            figures.lines == [
                "requests  4 objects in 0.018 s",
                "updates   3 in 0.50 s (4/s), 1 missing; p50 1.25 ms, p99 2.50 ms, most 2.50 ms",
                "matches   1, 1 missing",
            ])
        #expect(
            String(decoding: figures.object.serialised(), as: UTF8.self)
                == #"{"requests":{"objects":4,"seconds":0.0184},"updates":{"sent":3,"missing":1,"seconds":0.5,"perSecond":4,"#
                + #""p50":1.25,"p99":2.5,"most":2.5},"matches":{"expected":1,"missing":1,"p50":null,"p99":null,"most":null}}"#)
    }
}
