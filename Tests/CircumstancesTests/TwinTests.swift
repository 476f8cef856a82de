import SeededRandom
import Testing

@Suite("The engine and its naive twin")
struct TwinTests {
    @Test(
        "Random walks among random places, hours, expressions and edits fire exactly what a brute force says", arguments: 0..<10)
    func twin(_ run: Int) {
        var twin = TwinRun(seed: SplitMix64.seed() &+ UInt64(run))
        for step in 0..<160 {
            twin.act()
            guard twin.difference == nil else { break }
            if step == 159 { #expect(twin.fired > 0) }
        }
        #expect(twin.difference == nil)
    }
}
