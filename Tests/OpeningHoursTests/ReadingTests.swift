import OpeningHours
import Testing

@Suite("Reading opening hours")
struct ReadingTests {
    @Test("Hours read again say the same")
    func again() {
        #expect(OpeningHours("24/7").normalised == "24/7")
    }
}
