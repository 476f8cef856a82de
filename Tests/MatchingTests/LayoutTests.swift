import Testing

@testable import Matching

@Suite("Layout of the engine's records")
struct LayoutTests {
    @Test("A device, a publication, a subscription and a pair fill one cache line each")
    func lines() {
        #expect(MemoryLayout<Device>.stride == 64)
        #expect(MemoryLayout<Publication>.stride == 64)
        #expect(MemoryLayout<Subscription>.stride == 64)
        #expect(MemoryLayout<Pair>.stride == 64)
    }
}
