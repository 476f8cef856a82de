import CPrefetch
import EngineMemory
import Geodesy

/// A run of lanes: everything one cell holds of one side of one topic, contiguous in memory.
struct Run: BitwiseCopyable {
    /// The number of its first block.
    var block: UInt32 = 0
    /// Lanes in use, and the size class in the low six bits.
    private var packed: UInt32 = 0

    @inline(__always) var count: Int { Int(packed >> 6) }
    @inline(__always) var sizeClass: Int { Int(packed & 63) }

    init() {}

    init(block: UInt32, count: Int, sizeClass: Int) {
        self.block = block
        packed = UInt32(truncatingIfNeeded: count << 6 | sizeClass)
    }

    mutating func setCount(_ count: Int) { packed = UInt32(truncatingIfNeeded: count << 6 | sizeClass) }
}

/// All runs of an engine: blocks of eight lanes (x, y, z, range as eight `Int32` each, 128 bytes, two cache lines), and apart
/// from them, since a scan seldom needs it, the entry each lane belongs to.
///
/// A lane is named by its block and its place in it, `block * 8 + place`.
struct LanePool {
    private(set) var blocks: UnsafeMutableRawPointer
    private(set) var owners: UnsafeMutablePointer<UInt32>
    private var capacity = 16
    private var used = 0
    private var live = 0
    private var free = ContiguousArray(repeating: ContiguousArray<UInt32>(), count: 64)

    static let blockBytes = 128

    init() {
        blocks = BigMemory.allocate(bytes: capacity * LanePool.blockBytes)
        owners = BigMemory.allocate(bytes: capacity * 32).bindMemory(to: UInt32.self, capacity: capacity * 8)
    }

    func deallocate() {
        BigMemory.release(blocks)
        BigMemory.release(owners)
    }

    var bytes: Int { capacity * (LanePool.blockBytes + 32) + free.reduce(0) { $0 + $1.capacity * 4 } }

    /// Blocks in a run of a class: 1, 2, 3, 4, 6, 8, 12, 16, 24 …
    static func blockCount(ofClass sizeClass: Int) -> Int {
        if sizeClass == 0 { return 1 }
        return sizeClass & 1 == 1 ? 1 << ((sizeClass + 1) / 2) : 3 << (sizeClass / 2 - 1)
    }

    /// Adds a lane and returns its name. `relocated` says that all other lanes of the run have new names too.
    mutating func append(to run: inout Run, point: GridPoint, range: Int32, owner: UInt32) -> (lane: UInt32, relocated: Bool) {
        let count = run.count
        var relocated = false
        if count == 0 {
            run = Run(block: take(0), count: 0, sizeClass: 0)
        } else if count == LanePool.blockCount(ofClass: run.sizeClass) * 8 {
            relocate(&run, to: run.sizeClass + 1)
            relocated = true
        }
        let lane = run.block &* 8 &+ UInt32(truncatingIfNeeded: count)
        write(lane, point: point)
        word(lane)[24] = range
        owners[Int(lane)] = owner
        run.setCount(count + 1)
        return (lane, relocated)
    }

    /// Removes a lane; the run's last one takes its name.
    ///
    /// - Returns: The entry whose lane was moved to the removed one, and whether the whole run was (to a smaller place).
    mutating func remove(_ lane: UInt32, from run: inout Run) -> (moved: UInt32?, relocated: Bool) {
        let last = run.block &* 8 &+ UInt32(truncatingIfNeeded: run.count - 1)
        var moved: UInt32?
        if last != lane {
            let from = word(last)
            let to = word(lane)
            for field in 0..<4 { to[field * 8] = from[field * 8] }
            owners[Int(lane)] = owners[Int(last)]
            moved = owners[Int(lane)]
        }
        run.setCount(run.count - 1)
        if run.count == 0 {
            give(run.block, run.sizeClass)
            run = Run()
            return (moved, false)
        }
        // A third full: give two thirds back. Far enough from the point of growth that a run does not swing.
        if run.sizeClass >= 3, run.count <= LanePool.blockCount(ofClass: run.sizeClass - 3) * 8 {
            relocate(&run, to: run.sizeClass - 2)
            return (moved, true)
        }
        return (moved, false)
    }

    @inline(__always)
    func write(_ lane: UInt32, point: GridPoint) {
        let word = word(lane)
        word[0] = point.x
        word[8] = point.y
        word[16] = point.z
    }

    /// The lane's x; y, z and range follow at steps of eight.
    @inline(__always)
    func word(_ lane: UInt32) -> UnsafeMutablePointer<Int32> {
        (blocks + Int(lane >> 3) * LanePool.blockBytes).assumingMemoryBound(to: Int32.self) + Int(lane & 7)
    }

    @inline(__always)
    func prefetch(_ lane: UInt32) {
        let block = blocks + Int(lane >> 3) * LanePool.blockBytes
        geomatch_prefetch(block)
        geomatch_prefetch(block + 64)
    }

    /// Asks for the first lines of a run's owners, which most of what lies within reach will want.
    @inline(__always)
    func prefetchOwners(of run: Run) {
        let first = owners + Int(run.block) * 8
        var ahead = 0
        while ahead < min(run.count, 64) {
            geomatch_prefetch(first + ahead)
            ahead += 16
        }
    }

    private mutating func relocate(_ run: inout Run, to sizeClass: Int) {
        let count = run.count
        let next = take(sizeClass)
        let filled = (count + 7) / 8
        (blocks + Int(next) * LanePool.blockBytes)
            .copyMemory(from: blocks + Int(run.block) * LanePool.blockBytes, byteCount: filled * LanePool.blockBytes)
        (owners + Int(next) * 8).update(from: owners + Int(run.block) * 8, count: filled * 8)
        give(run.block, run.sizeClass)
        run = Run(block: next, count: count, sizeClass: sizeClass)
    }

    private mutating func take(_ sizeClass: Int) -> UInt32 {
        let size = LanePool.blockCount(ofClass: sizeClass)
        live += size
        if let block = free[sizeClass].popLast() { return block }
        if used + size > capacity {
            var next = capacity
            while used + size > next { next = BigMemory.grown(next, stride: LanePool.blockBytes) }
            blocks = BigMemory.resize(blocks, used: used * LanePool.blockBytes, bytes: next * LanePool.blockBytes)
            owners = BigMemory.resize(owners, used: used * 32, bytes: next * 32).bindMemory(to: UInt32.self, capacity: next * 8)
            capacity = next
        }
        used += size
        return UInt32(truncatingIfNeeded: used - size)
    }

    private mutating func give(_ block: UInt32, _ sizeClass: Int) {
        live -= LanePool.blockCount(ofClass: sizeClass)
        free[sizeClass].append(block)
        guard live == 0 else { return }
        used = 0
        guard capacity > 1024 else {
            for index in free.indices { free[index].removeAll(keepingCapacity: true) }
            return
        }
        deallocate()
        self = LanePool()
    }
}
