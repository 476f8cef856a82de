import CPrefetch
import EngineMemory

/// The tracks of all devices, by their numbers.
struct TrackTable: ~Copyable {
    private(set) var count = 0
    private var capacity = 0
    private var base: UnsafeMutablePointer<DeviceTrack>?

    init() {}

    deinit {
        guard let base else { return }
        base.deinitialize(count: count)
        BigMemory.release(base)
    }

    var indices: Range<Int> { 0..<count }

    /// Adds empty tracks, up to this many in all.
    mutating func grow(to end: Int) {
        guard end > count else { return }
        if end > capacity {
            capacity = max(end, capacity + capacity / 2, 16)
            let memory = BigMemory.allocate(bytes: capacity * MemoryLayout<DeviceTrack>.stride)
            let next = memory.bindMemory(to: DeviceTrack.self, capacity: capacity)
            if let base {
                next.moveInitialize(from: base, count: count)
                BigMemory.release(base)
            }
            base = next
        }
        for index in count..<end { address(index).initialize(to: DeviceTrack()) }
        count = end
    }

    subscript(index: Int) -> DeviceTrack {
        @inline(__always)
        _read {
            precondition(index < count, "There is no device \(index)")
            yield address(index).pointee
        }
        @inline(__always)
        _modify {
            precondition(index < count, "There is no device \(index)")
            yield &address(index).pointee
        }
    }

    /// Of the track with this number, or of the end.
    @inline(__always)
    func address(_ index: Int) -> UnsafeMutablePointer<DeviceTrack> { base.unsafelyUnwrapped + index }

    /// Asks for the three lines of a track, so that they are there then.
    @inline(__always)
    func prefetch(_ index: Int) {
        guard index < count else { return }
        let address = UnsafeRawPointer(address(index))
        geomatch_prefetch(address)
        geomatch_prefetch(address + 64)
        geomatch_prefetch(address + 128)
    }
}
