import EngineMemory
import SeededRandom
import Testing

@Suite("A table of open addressing")
struct OpenTableTests {
    private struct Slot: OpenSlot {
        var key: UInt64
        var value: Int

        static let vacant = Slot(key: .max, value: 0)
        var isVacant: Bool { key == .max }
        var hash: UInt64 { Slot.hash(key) }

        /// Few different ones, so that slots collide, at the end of the table too.
        static func hash(_ key: UInt64) -> UInt64 { (key % 97) &* 0x02A3_0FE0_0000_0000 | 0xFFFF }
    }

    @Test("Finds what was inserted and not removed, as a dictionary does", arguments: [50, 75, 95])
    func asDictionary(fullness: Int) {
        var random = SplitMix64.forTest()
        var table = OpenTable<Slot>(fullness: fullness)
        defer { table.deallocate() }
        var twin: [UInt64: Int] = [:]
        func find(_ key: UInt64) -> UnsafeMutablePointer<Slot>? { table.find(Slot.hash(key)) { $0.key == key } }
        for step in 0..<20_000 {
            // In rounds of growing and shrinking.
            let key = UInt64(random.below(700))
            if random.chance(step / 4000 % 2 == 0 ? 70 : 30) {
                if let known = find(key) { known.pointee.value = step } else { table.insert(Slot(key: key, value: step)) }
                twin[key] = step
            } else if let known = find(key) {
                #expect(known.pointee.value == twin.removeValue(forKey: key))
                table.remove(known)
            } else {
                #expect(twin[key] == nil)
            }
            let asked = UInt64(random.below(700))
            #expect(find(asked)?.pointee.value == twin[asked])
            #expect(table.count == twin.count)
        }
        var met: [UInt64: Int] = [:]
        table.forEach { slot in
            met[slot.pointee.key] = slot.pointee.value
            return true
        }
        #expect(met == twin)
        table.removeAll()
        #expect(find(twin.keys.first ?? 0) == nil && table.count == 0)
    }

    @Test("Numbers are found by their hash, whatever the number of slots is")
    func numbers() {
        var random = SplitMix64.forTest()
        var table = OpenTable<NumberSlot>(fullness: 70)
        defer { table.deallocate() }
        var hashes: [UInt32] = []
        // Beyond a megabyte the number of slots is no power of two.
        for number in 0..<UInt32(300_000) {
            hashes.append(UInt32.random(in: 0...UInt32.max, using: &random))
            table.insert(NumberSlot(number, hash: hashes[Int(number)]))
        }
        let lost = hashes.indices.filter { number in
            table.find(hashes[number]) { $0 == UInt32(number) }?.pointee.number != UInt32(number)
        }
        #expect(lost.isEmpty)
        for number in hashes.indices where number % 3 > 0 {
            if let slot = table.find(hashes[number], where: { $0 == UInt32(number) }) { table.remove(slot) }
        }
        let wrong = hashes.indices.filter { number in
            (table.find(hashes[number]) { $0 == UInt32(number) } != nil) != (number % 3 == 0)
        }
        #expect(wrong.isEmpty && table.count == 100_000)
    }
}
