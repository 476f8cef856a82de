import Testing

@testable import Circumstances

@Suite("What is remembered of a device")
struct TrackLayoutTests {
    @Test("A track is small, and what every fix needs of it lies in its first two lines of the cache")
    func size() {
        #expect(MemoryLayout<DeviceTrack>.stride <= 256)
        var track = DeviceTrack()
        track.due = 7
        let offset = withUnsafePointer(to: &track) { track in
            (0..<MemoryLayout<DeviceTrack>.size / 8).first {
                UnsafeRawPointer(track).load(fromByteOffset: 8 * $0, as: Int64.self) == 7
            }
        }
        #expect(offset.map { 8 * $0 + 24 <= 128 } == true)
    }
}
