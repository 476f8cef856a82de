import SeededRandom
import Testing

@testable import Circumstances

@Suite("The directory of cells")
struct CellDirectoryTests {
    @Test("Finds what was entered and not taken out, as a dictionary does")
    func asDictionary() {
        var random = SplitMix64.forTest()
        var directory = CellDirectory()
        var twin: [UInt64: Int] = [:]
        for step in 0..<20_000 {
            // Few keys, so that they meet; in rounds of growing and shrinking.
            let key = UInt64(random.below(700)) &* 0x1_0000_0001
            if random.chance(step / 4000 % 2 == 0 ? 70 : 30) {
                if twin[key] == nil {
                    directory.insert(key, step)
                    twin[key] = step
                }
            } else {
                #expect(directory.remove(key) == twin.removeValue(forKey: key))
            }
            let asked = UInt64(random.below(700)) &* 0x1_0000_0001
            #expect(directory.find(asked) == twin[asked])
        }
        #expect(directory.count == twin.count)
        directory.update { $0 + 1 }
        for (key, start) in twin { #expect(directory.find(key) == start + 1) }
        directory.removeAll()
        #expect(directory.find(twin.keys.first ?? 0) == nil && directory.count == 0)
    }
}
