import Testing

@testable import Circumstances

@Suite("What is remembered of a device")
struct TrackLayoutTests {
    @Test(
        "A compact duration is right to the millisecond up to 24 days, to the second beyond",
        arguments: [
            (0, 0), (-5, 0), (1, 1), (2_147_483_647, 2_147_483_647), (2_147_483_648, 2_147_483_000),
            (1_800_000_000_123, 1_800_000_000_000), (.max, 2_147_483_647_000),
        ] as [(Int64, Int64)])
    func compactDuration(_ milliseconds: Int64, _ kept: Int64) {
        #expect(CompactDuration(from: 0, to: milliseconds).milliseconds == kept)
        #expect(!(CompactDuration(from: 0, to: milliseconds) < .zero))
    }

    @Test("A track is small, and what every fix needs of it lies in its first two lines of the cache")
    func size() {
        #expect(MemoryLayout<DeviceTrack>.stride <= 192)
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
