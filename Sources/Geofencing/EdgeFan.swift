import Geodesy

/// The edges of a polygon by their direction from its middle.
///
/// Edges are straight in degrees, and so in a plane that touches the earth at the middle. Of each of 64 sectors around the middle the
/// distances of its nearest and of its farthest edge are known, and which edges it has. See ``EdgeOutline``.
///
/// A value is a reference to memory that its polygon frees.
struct EdgeFan: Sendable {
    /// A ``Head``, what sectors reach, their runs, the points, and for several rings whether a point ends one; written by the
    /// initialiser only. One block, as each further one would be a miss of the cache and one of the page tables.
    private nonisolated(unsafe) let memory: UnsafeMutableRawPointer

    /// A line of the cache.
    private struct Head {
        var plane: EdgePlane
        var hasRings: Bool
        var runs: UInt8
        var count: Int32
        /// Edges of a run.
        var length: Int32
    }

    /// The runs of a sector, which are edges that follow each other; the first one follows the last.
    private struct Runs {
        var first: UInt8 = 0
        var count: UInt8 = 0
    }

    static let sectorCount = 64
    private static let runsMax = 255
    private static let reachesAt = 64
    private static let runsAt = reachesAt + sectorCount * MemoryLayout<EdgeReach>.stride
    private static let pointsAt = runsAt + sectorCount * MemoryLayout<Runs>.stride

    /// What is rounded.
    private static let rounding = 1e-9

    /// - Parameters:
    ///   - points: Degrees, x is the longitude, unwrapped so that the polygon is one piece. Each ring is closed: its first point comes
    ///     again.
    ///   - ringEnds: Where each ring ends.
    ///   - box: All of them lie in it.
    init(_ points: [SIMD2<Double>], _ ringEnds: [Int], _ box: Area.Box) {
        let half = SIMD2(box.width, box.north - box.south) / 2
        let middle = SIMD2(points.reduce(Double.infinity) { min($0, $1.x) }, box.south) + half
        let sine = Turned.sine(middle.y)
        let curve = 1 - Ellipsoid.eccentricitySquared * sine * sine
        let normal = Ellipsoid.equatorialRadius / curve.squareRoot()
        let meridian = Ellipsoid.equatorialRadius * (1 - Ellipsoid.eccentricitySquared) / (curve * curve.squareRoot())
        let scale = SIMD2<Float>(SIMD2(normal * Turned.cosine(middle.y), meridian) * (Double.pi / 180))
        let outer = points.reduce(0) { max($0, Self.length(($1 - middle) * SIMD2<Double>(scale))) }
        let edges = points.count - 1
        let length = max(1, (edges + Self.runsMax - 1) / Self.runsMax)
        let runs = (edges + length - 1) / length
        let hasRings = ringEnds.count > 1
        memory = .allocate(byteCount: Self.pointsAt + points.count * (hasRings ? 17 : 16), alignment: 64)
        let plane = EdgePlane(
            longitude: middle.x, latitude: middle.y, east: scale.x, north: scale.y,
            step: Float(max(outer, 1e-9) * (1 + 2 * Self.rounding) / Double(UInt8.max)).nextUp,
            half: Float(max(half.x, half.y)).nextUp)
        head.initialize(
            to: Head(plane: plane, hasRings: hasRings, runs: UInt8(runs), count: Int32(points.count), length: Int32(length)))
        self.points.initialize(from: points, count: points.count)
        if hasRings { endsRing.initialize(repeating: false, count: points.count) }
        if hasRings { for end in ringEnds { endsRing[end - 1] = true } }
        var crossings = Crossings(middle)
        forEachEdge { crossings.add($0, $1) }
        head.pointee.plane.isMiddleInside = crossings.isInside
        fillSectors(runs: runs, length: length, tiny: outer * 1e-4)
        head.pointee.plane.nearest = (0..<Self.sectorCount).reduce(UInt8.max) { min($0, reaches[$1].near) }
    }

    private func fillSectors(runs: Int, length: Int, tiny: Double) {
        reaches.initialize(repeating: EdgeReach(), count: Self.sectorCount)
        sectors.initialize(repeating: Runs(), count: Self.sectorCount)
        let (middle, scale, step) = (plane.middle, plane.scale, Double(plane.step))
        var touches = Array(repeating: false, count: Self.sectorCount * runs)
        for run in 0..<runs {
            forEachEdge(run * length, (run + 1) * length) { from, to in
                let pieces = EdgePieces((from - middle) * scale, (to - middle) * scale, tiny: tiny)
                pieces.forEach { sector, near, far in
                    touches[sector * runs + run] = true
                    let (least, most) = (near * (1 - Self.rounding) / step, far * (1 + Self.rounding) / step)
                    reaches[sector].near = min(reaches[sector].near, UInt8(min(255, least.rounded(.down))))
                    reaches[sector].far = max(reaches[sector].far, UInt8(min(255, most.rounded(.up))))
                }
            }
        }
        for sector in 0..<Self.sectorCount {
            let touched = (0..<runs).filter { touches[sector * runs + $0] }
            guard let first = touched.first, let last = touched.last else { continue }
            // All but the longest gap.
            var (start, gap) = (first, first + runs - last)
            for (left, right) in zip(touched, touched.dropFirst()) where right - left > gap {
                (start, gap) = (right, right - left)
            }
            sectors[sector].first = UInt8(start)
            sectors[sector].count = UInt8(runs - gap + 1)
        }
    }

    func deallocate() { memory.deallocate() }

    private var head: UnsafeMutablePointer<Head> { memory.assumingMemoryBound(to: Head.self) }
    private var reaches: UnsafeMutablePointer<EdgeReach> {
        (memory + Self.reachesAt).assumingMemoryBound(to: EdgeReach.self)
    }
    private var sectors: UnsafeMutablePointer<Runs> { (memory + Self.runsAt).assumingMemoryBound(to: Runs.self) }
    private var points: UnsafeMutablePointer<SIMD2<Double>> {
        (memory + Self.pointsAt).assumingMemoryBound(to: SIMD2<Double>.self)
    }
    private var endsRing: UnsafeMutablePointer<Bool> {
        (memory + Self.pointsAt + Int(head.pointee.count) * 16).assumingMemoryBound(to: Bool.self)
    }

    var plane: EdgePlane { head.pointee.plane }

    /// What decides most positions; valid as long as the fan is.
    var outline: EdgeOutline { EdgeOutline(plane: plane, reaches: reaches, fan: self) }

    // MARK: Positions

    /// Whether a position lies inside, or on an edge, by the edges that a line on from the middle may meet.
    func isInside(_ polar: EdgePlane.Polar) -> Bool {
        var crossings = Crossings(polar.point, towards: polar.offset == .zero ? SIMD2(1, 0) : polar.offset)
        forEachEdge(of: sectors[polar.sector]) { crossings.add($0, $1) }
        return crossings.isInside
    }

    /// Whether an edge of some sectors, as ``EdgePlane/sectors(within:of:)`` counts them, is nearer than a bound; nil where that is not
    /// sure.
    func isEdge(
        within bound: (lower: Double, upper: Double), of polar: EdgePlane.Polar, _ span: ClosedRange<Int>
    ) -> Bool? {
        var nearest = NearestEdge(polar.point, plane.scale)
        if span.count < Self.sectorCount {
            for number in span { forEachEdge(of: sectors[number & (Self.sectorCount - 1)]) { nearest.add($0, $1) } }
        } else {
            forEachEdge { nearest.add($0, $1) }
        }
        return nearest.metres < bound.lower ? true : nearest.metres > bound.upper ? false : nil
    }

    // MARK: Edges

    /// Calls `body` with each edge.
    @inline(__always)
    func forEachEdge(_ body: (SIMD2<Double>, SIMD2<Double>) -> Void) { forEachEdge(0, Int(head.pointee.count), body) }

    @inline(__always)
    private func forEachEdge(of sector: Runs, _ body: (SIMD2<Double>, SIMD2<Double>) -> Void) {
        let length = Int(head.pointee.length)
        let start = Int(sector.first) * length
        let end = start + Int(sector.count) * length
        forEachEdge(start, end, body)
        let around = end - Int(head.pointee.runs) * length
        if around > 0 { forEachEdge(0, around, body) }
    }

    @inline(__always)
    private func forEachEdge(_ start: Int, _ end: Int, _ body: (SIMD2<Double>, SIMD2<Double>) -> Void) {
        let (points, hasRings) = (points, head.pointee.hasRings)
        for index in start..<min(end, Int(head.pointee.count) - 1) where !hasRings || !endsRing[index] {
            body(points[index], points[index + 1])
        }
    }

    static func length(_ metres: SIMD2<Double>) -> Double { (metres * metres).sum().squareRoot() }
}

/// A direction as a number of sectors that grows to the left, from the south: along the sides of a square on its corner, so
/// that a quotient is enough. It grows by a quarter of all sectors a radian at most.
struct Direction {
    var turn: Double

    init(_ vector: SIMD2<Double>) {
        let rise = vector.y / max(abs(vector.x) + abs(vector.y), .leastNormalMagnitude)
        turn = ((vector.x < 0 ? 2 - rise : rise) + 1) * Double(EdgeFan.sectorCount / 4)
    }

    init(turn: Double) { self.turn = turn }

    var sector: Int { Int(turn) & (EdgeFan.sectorCount - 1) }

    var vector: SIMD2<Double> {
        var side = turn / Double(EdgeFan.sectorCount / 4) - 1
        if side >= 3 { side -= 4 } else if side < -1 { side += 4 }
        let rise = side > 1 ? 2 - side : side
        return SIMD2(side > 1 ? abs(rise) - 1 : 1 - abs(rise), rise)
    }
}

/// An edge as what it is in each sector that it touches: a little more, as directions are rounded.
private struct EdgePieces {
    /// Metres from the middle; the end is to the left of the start.
    private let start, end: SIMD2<Double>
    private let first, last: Double
    /// It passes the middle so close that it has no direction.
    private let isEverywhere: Bool

    private static let slack = 1e-6

    init(_ from: SIMD2<Double>, _ to: SIMD2<Double>, tiny: Double) {
        isEverywhere = Self.nearest(from, to) <= tiny
        let turns = (Direction(from).turn, Direction(to).turn)
        let half = Double(EdgeFan.sectorCount / 2)
        var span = turns.1 - turns.0
        if span > half { span -= 2 * half } else if span < -half { span += 2 * half }
        (start, end, first) = span < 0 ? (to, from, turns.1) : (from, to, turns.0)
        last = first + abs(span)
    }

    /// Calls `body` with the distances from the middle that the edge has in a sector.
    func forEach(_ body: (_ sector: Int, _ near: Double, _ far: Double) -> Void) {
        if isEverywhere {
            for sector in 0..<EdgeFan.sectorCount { body(sector, 0, max(EdgeFan.length(start), EdgeFan.length(end))) }
            return
        }
        for sector in Int((first - Self.slack).rounded(.down))...Int((last + Self.slack).rounded(.down)) {
            let (right, left) = (Double(sector) - Self.slack, Double(sector + 1) + Self.slack)
            let from = first >= right ? start : meeting(right)
            let to = last <= left ? end : meeting(left)
            body(
                sector & (EdgeFan.sectorCount - 1), Self.nearest(from, to), max(EdgeFan.length(from), EdgeFan.length(to)))
        }
    }

    /// Where a line from the middle meets the edge.
    private func meeting(_ turn: Double) -> SIMD2<Double> {
        let vector = Direction(turn: turn).vector
        return vector * (Self.cross(start, end - start) / Self.cross(vector, end - start))
    }

    private static func nearest(_ from: SIMD2<Double>, _ to: SIMD2<Double>) -> Double {
        var nearest = NearestEdge(.zero, SIMD2(1, 1))
        nearest.add(from, to)
        return nearest.metres
    }

    private static func cross(_ left: SIMD2<Double>, _ right: SIMD2<Double>) -> Double { left.x * right.y - left.y * right.x }
}

/// Whether a point is inside of rings, or on one, in degrees: by the edges that a line from it crosses.
struct Crossings {
    private let point: SIMD2<Double>
    private let direction: SIMD2<Double>
    private var isOdd = false
    private var isOnEdge = false

    /// - Parameter direction: Of the line; to the east.
    init(_ point: SIMD2<Double>, towards direction: SIMD2<Double> = SIMD2(1, 0)) {
        self.point = point
        self.direction = direction
    }

    var isInside: Bool { isOdd || isOnEdge }

    @inline(__always)
    mutating func add(_ from: SIMD2<Double>, _ to: SIMD2<Double>) {
        let side = (to.x - from.x) * (point.y - from.y) - (point.x - from.x) * (to.y - from.y)
        if side == 0, spans(from, to) { isOnEdge = true }
        let isLeft = isLeft(to)
        if isLeft != self.isLeft(from), (side > 0) == isLeft { isOdd.toggle() }
    }

    /// The same of a point for both of its edges, so that none is missed between them.
    private func isLeft(_ end: SIMD2<Double>) -> Bool {
        direction.x * (end.y - point.y) - (end.x - point.x) * direction.y > 0
    }

    private func spans(_ from: SIMD2<Double>, _ to: SIMD2<Double>) -> Bool {
        min(from.x, to.x) <= point.x && point.x <= max(from.x, to.x) && min(from.y, to.y) <= point.y
            && point.y <= max(from.y, to.y)
    }
}

/// How far the nearest of some edges is from a point, in a plane.
struct NearestEdge {
    /// Degrees.
    private let point: SIMD2<Double>
    private let scale: SIMD2<Double>
    private var least = Double.infinity

    init(_ point: SIMD2<Double>, _ scale: SIMD2<Double>) {
        self.point = point
        self.scale = scale
    }

    var metres: Double { least.squareRoot() }

    @inline(__always)
    mutating func add(_ from: SIMD2<Double>, _ to: SIMD2<Double>) {
        let from = (from - point) * scale
        let along = (to - point) * scale - from
        let length = (along * along).sum()
        let share = length > 0 ? max(0, min(1, -(from * along).sum() / length)) : 0
        let nearest = from + along * share
        least = min(least, (nearest * nearest).sum())
    }
}
