import Testing

@testable import Matching

@Suite("Layout of the engine's records")
struct LayoutTests {
    @Test("A device, an entry and a pair fill one cache line each")
    func lines() {
        #expect(MemoryLayout<Device>.stride == 64)
        #expect(MemoryLayout<Entry>.stride == 64)
        #expect(MemoryLayout<Pair>.stride == 64)
    }
}
