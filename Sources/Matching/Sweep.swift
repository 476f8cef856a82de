import CPrefetch
import Geodesy

/// What a probe looks for: lanes that are in range of the new point and were not in range of the old one.
struct Sweep {
    var point: GridPoint
    var formerPoint: GridPoint
    /// Without a former point everything in range is looked for.
    var hasFormerPoint: Bool
    /// The probing entry's own range in grid units.
    var range: Int32
    /// Grid units between the points; infinite without a former one.
    var travelled: Float

    init(point: GridPoint, from former: GridPoint?, range: Int32, travelled: Double) {
        self.point = point
        formerPoint = former ?? point
        hasFormerPoint = former != nil
        self.range = range
        self.travelled = former == nil ? .infinity : Float(travelled)
    }

    /// The square of the longest chord (grid units) over which both ranges still touch: the one decision of the engine.
    @inline(__always)
    static func squaredReach(_ ranges: Int32) -> Double {
        let chord = Geodesic.chord(ofArc: Double(ranges) / GridPoint.unitsPerMetre) * GridPoint.unitsPerMetre
        return chord * chord
    }
}

extension LanePool {
    /// Grid units by which the quick test is more generous than the exact one: single precision is off by less than one
    /// at 10 km, and the chord under the longest reach is shorter by a quarter of one.
    private static let margin: Float = 6

    /// Appends the owners of the lanes a sweep looks for.
    ///
    /// Eight lanes at a time in single precision: with m metres travelled only a lane with R - m ≤ d ≤ R can have come into
    /// range. What passes is decided exactly.
    @inline(__always)
    func scan(_ run: Run, _ sweep: Sweep, into hits: inout Scratch<UInt32>) {
        let count = run.count
        let first = UnsafeRawPointer(blocks) + Int(run.block) * LanePool.blockBytes
        let x = SIMD8<Int32>(repeating: sweep.point.x)
        let y = SIMD8<Int32>(repeating: sweep.point.y)
        let z = SIMD8<Int32>(repeating: sweep.point.z)
        let range = SIMD8<Int32>(repeating: sweep.range)
        let slack = SIMD8<Float>(repeating: sweep.travelled + 2 * LanePool.margin)
        var done = 0
        while done < count {
            let block = first + done * (LanePool.blockBytes / 8)
            let dx = SIMD8<Float>(block.load(as: SIMD8<Int32>.self) &- x)
            let dy = SIMD8<Float>(block.load(fromByteOffset: 32, as: SIMD8<Int32>.self) &- y)
            let dz = SIMD8<Float>(block.load(fromByteOffset: 64, as: SIMD8<Int32>.self) &- z)
            let ranges = block.load(fromByteOffset: 96, as: SIMD8<Int32>.self) &+ range
            let squared = dx * dx + dy * dy + dz * dz
            let outer = SIMD8<Float>(ranges) + LanePool.margin
            var inner = outer - slack
            inner.replace(with: 0, where: inner .< 0)
            let mask = (squared .<= outer * outer) .& (squared .>= inner * inner)
            let bits = SIMD8<UInt32>(repeating: 0)
                .replacing(with: SIMD8<UInt32>(1, 2, 4, 8, 16, 32, 64, 128), where: mask)
                .wrappedSum()
            if bits != 0 { decide(block, bits, left: count - done, run.block &* 8 &+ UInt32(done), sweep, &hits) }
            done += 8
        }
    }

    @inline(never)
    private func decide(
        _ block: UnsafeRawPointer, _ candidates: UInt32, left: Int, _ firstLane: UInt32, _ sweep: Sweep,
        _ hits: inout Scratch<UInt32>
    ) {
        geomatch_prefetch(owners + Int(firstLane))
        var bits = left < 8 ? candidates & (1 << UInt32(left) - 1) : candidates
        let words = block.assumingMemoryBound(to: Int32.self)
        while bits != 0 {
            let place = bits.trailingZeroBitCount
            bits &= bits &- 1
            let point = GridPoint(x: words[place], y: words[place + 8], z: words[place + 16])
            let reach = Sweep.squaredReach(words[place + 24] &+ sweep.range)
            guard point.squaredChord(to: sweep.point) <= reach else { continue }
            if sweep.hasFormerPoint && point.squaredChord(to: sweep.formerPoint) <= reach { continue }
            hits.append(owners[Int(firstLane) + place])
        }
    }
}
