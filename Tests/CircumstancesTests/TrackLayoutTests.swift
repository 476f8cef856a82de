import Testing

@testable import Circumstances

@Suite("What is remembered of a device")
struct TrackLayoutTests {
    @Test("A track is small, and what every fix needs of it lies together")
    func size() {
        #expect(MemoryLayout<DeviceTrack>.stride <= 256)
        #expect(MemoryLayout<DeviceTrack>.offset(of: \.held) ?? .max < 128)
    }
}
