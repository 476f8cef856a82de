import CPrefetch
import Geodesy

/// The edges of a polygon by their direction from its middle.
///
/// Edges are straight in degrees, and so in a plane that touches the earth at the middle. Of each of 64 sectors around the middle the
/// distances of its nearest and of its farthest edge are known: what lies nearer is where the middle is, what lies beyond is outside,
/// and what lies between is decided by the edges of the sector.
///
/// A value is a reference to memory that its polygon frees.
struct EdgeFan: Sendable {
    /// A ``Head``, the sectors, the points, and for several rings whether a point ends one; written by the initialiser only. One block,
    /// as each further one would be a miss of the cache and one of the page tables.
    private nonisolated(unsafe) let memory: UnsafeMutableRawPointer

    /// A line of the cache.
    private struct Head {
        /// Degrees; the longitude as of the points, which may be beyond 180.
        var middle: SIMD2<Double>
        /// Metres a degree.
        var scale: SIMD2<Double>
        /// Metres in the plane that a sector's distances count.
        var step: Double
        var count: Int32
        /// Edges of a run.
        var length: Int32
        /// Degrees from the middle within which all points are.
        var half: Float
        var runs: UInt8
        /// All is so near that distances in the plane are known.
        var isPlane: Bool
        var isMiddleInside: Bool
        var hasRings: Bool
    }

    /// What of the edges lies in one direction.
    private struct Sector {
        /// Steps from the middle; where there is no edge, the nearest one is as far as any.
        var near = UInt8.max
        var far: UInt8 = 0
        /// Its runs, which are edges that follow each other; the first one follows the last.
        var first: UInt8 = 0
        var count: UInt8 = 0
    }

    static let sectorCount = 64
    private static let runsMax = 255
    private static let sectorsAt = 64
    private static let pointsAt = sectorsAt + sectorCount * MemoryLayout<Sector>.stride

    /// Degrees from the middle, and how far to the north.
    private static let planeMax = 0.1
    private static let latitudeMax = 75.0
    /// What plane distances are wrong by at most: of themselves for each degree from the middle, and in metres. A
    /// parallel is shorter than the next one a degree away by 7 % where the plane ends, and by less before.
    private static let errorPerDegree = 0.2
    private static let slack = 0.001
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
        let scale = SIMD2(normal * Turned.cosine(middle.y), meridian) * (Double.pi / 180)
        let outer = points.reduce(0) { max($0, Self.length(($1 - middle) * scale)) }
        let edges = points.count - 1
        let length = max(1, (edges + Self.runsMax - 1) / Self.runsMax)
        let runs = (edges + length - 1) / length
        let hasRings = ringEnds.count > 1
        let widest = max(half.x, half.y)
        memory = .allocate(byteCount: Self.pointsAt + points.count * (hasRings ? 17 : 16), alignment: 64)
        head.initialize(
            to: Head(
                middle: middle, scale: scale, step: max(outer, 1e-9) * (1 + 2 * Self.rounding) / Double(UInt8.max),
                count: Int32(points.count), length: Int32(length), half: Float(widest).nextUp, runs: UInt8(runs),
                isPlane: widest <= Self.planeMax && abs(middle.y) <= Self.latitudeMax, isMiddleInside: false, hasRings: hasRings))
        self.points.initialize(from: points, count: points.count)
        if hasRings { endsRing.initialize(repeating: false, count: points.count) }
        if hasRings { for end in ringEnds { endsRing[end - 1] = true } }
        var crossings = Crossings(middle)
        forEachEdge { crossings.add($0, $1) }
        head.pointee.isMiddleInside = crossings.isInside
        fillSectors(runs: runs, length: length, tiny: outer * 1e-4)
    }

    private func fillSectors(runs: Int, length: Int, tiny: Double) {
        sectors.initialize(repeating: Sector(), count: Self.sectorCount)
        let (middle, scale) = (head.pointee.middle, head.pointee.scale)
        var touches = Array(repeating: false, count: Self.sectorCount * runs)
        for run in 0..<runs {
            forEachEdge(run * length, (run + 1) * length) { from, to in
                let pieces = EdgePieces((from - middle) * scale, (to - middle) * scale, tiny: tiny)
                pieces.forEach { sector, near, far in
                    touches[sector * runs + run] = true
                    let (least, most) = (near * (1 - Self.rounding) / step, far * (1 + Self.rounding) / step)
                    sectors[sector].near = min(sectors[sector].near, UInt8(min(255, least.rounded(.down))))
                    sectors[sector].far = max(sectors[sector].far, UInt8(min(255, most.rounded(.up))))
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
    private var sectors: UnsafeMutablePointer<Sector> { (memory + Self.sectorsAt).assumingMemoryBound(to: Sector.self) }
    private var points: UnsafeMutablePointer<SIMD2<Double>> {
        (memory + Self.pointsAt).assumingMemoryBound(to: SIMD2<Double>.self)
    }
    private var endsRing: UnsafeMutablePointer<Bool> {
        (memory + Self.pointsAt + Int(head.pointee.count) * 16).assumingMemoryBound(to: Bool.self)
    }

    private var step: Double { head.pointee.step }
    var isPlane: Bool { head.pointee.isPlane }

    /// Asks for the memory that decides most positions in a direction, of which the length says nothing.
    @inline(__always)
    func prefetch(towards direction: SIMD2<Double>) {
        geomatch_prefetch(memory)
        geomatch_prefetch(sectors + Direction(direction).sector)
    }

    // MARK: Positions

    /// Where a position is, seen from the middle.
    struct Polar {
        /// Degrees, as the points.
        var point: SIMD2<Double>
        /// Degrees from the middle.
        var offset: SIMD2<Double>
        /// In the plane.
        var metres: Double
        var sector: Int
    }

    @inline(__always)
    func polar(latitude: Double, longitude: Double) -> Polar {
        let middle = head.pointee.middle
        var point = SIMD2(longitude, latitude)
        while point.x - middle.x > 180 { point.x -= 360 }
        while point.x - middle.x < -180 { point.x += 360 }
        let offset = point - middle
        let metres = offset * head.pointee.scale
        return Polar(point: point, offset: offset, metres: Self.length(metres), sector: Direction(metres).sector)
    }

    /// Whether a position lies inside, or on an edge.
    @inline(__always)
    func contains(_ polar: Polar) -> Bool {
        let sector = sectors[polar.sector]
        if polar.metres > Double(sector.far) * step { return false }
        if polar.metres < Double(sector.near) * step { return head.pointee.isMiddleInside }
        return isInside(polar)
    }

    /// By the edges that a line on from the middle may meet.
    private func isInside(_ polar: Polar) -> Bool {
        var crossings = Crossings(polar.point, towards: polar.offset == .zero ? SIMD2(1, 0) : polar.offset)
        forEachEdge(of: sectors[polar.sector]) { crossings.add($0, $1) }
        return crossings.isInside
    }

    /// Whether a position lies outside by more than so many metres, at least 0; nil where the plane is not right enough to say.
    @inline(__always)
    func isBeyond(_ metres: Double, _ polar: Polar) -> Bool? {
        guard let bound = bound(metres, polar) else { return nil }
        // Between the middle and what is outside there is an edge.
        if head.pointee.isMiddleInside, polar.metres - Double(sectors[polar.sector].near) * step < bound.lower { return false }
        if contains(polar) { return false }
        let span = span(polar, bound.upper)
        let far = span.reduce(UInt8.min) { max($0, sector($1).far) }
        if polar.metres - Double(far) * step > bound.upper { return true }
        return isEdge(within: bound, polar, span).map { !$0 }
    }

    /// Whether a position lies inside, so many metres from any edge or more; nil where the plane is not right enough to say.
    @inline(__always)
    func isInside(by metres: Double, _ polar: Polar) -> Bool? {
        guard let bound = bound(metres, polar) else { return nil }
        // Beyond what is inside there is an edge.
        if Double(sectors[polar.sector].far) * step - polar.metres < bound.lower { return false }
        let span = span(polar, bound.upper)
        let near = span.reduce(UInt8.max) { min($0, sector($1).near) }
        if head.pointee.isMiddleInside, polar.metres + bound.upper <= Double(near) * step { return true }
        guard contains(polar) else { return false }
        return isEdge(within: bound, polar, span).map { !$0 }
    }

    /// What is less in the plane is surely less than so many metres, and what is more is surely more; nil far from the middle.
    @inline(__always)
    private func bound(_ metres: Double, _ polar: Polar) -> (lower: Double, upper: Double)? {
        let farthest = max(abs(polar.offset.x), abs(polar.offset.y), Double(head.pointee.half))
        guard isPlane, farthest <= Self.planeMax else { return nil }
        let error = Self.error(farthest)
        return ((metres - Self.slack) / (1 + error), (metres + Self.slack) / (1 - error))
    }

    private static func error(_ degrees: Double) -> Double { degrees * errorPerDegree + rounding }

    /// The sectors that come within so many metres of a position in the plane, counted on from 63 or down from 0.
    @inline(__always)
    private func span(_ polar: Polar, _ metres: Double) -> ClosedRange<Int> {
        // Radians of a sector at least, see ``Direction``; up to three quarters a sine is nine tenths of its angle and more.
        let width = 4 / Double(Self.sectorCount)
        let steps = (metres / (polar.metres * width * 0.9)).rounded(.up)
        guard steps * width <= 0.75 else { return 0...(Self.sectorCount - 1) }
        return (polar.sector - Int(steps))...(polar.sector + Int(steps))
    }

    @inline(__always)
    private func sector(_ number: Int) -> Sector { sectors[number & (Self.sectorCount - 1)] }

    /// Whether an edge of some sectors is nearer than a bound, nil where that is not sure.
    private func isEdge(
        within bound: (lower: Double, upper: Double), _ polar: Polar, _ span: ClosedRange<Int>
    ) -> Bool? {
        var nearest = NearestEdge(polar.point, head.pointee.scale)
        if span.count < Self.sectorCount {
            for number in span { forEachEdge(of: sector(number)) { nearest.add($0, $1) } }
        } else {
            forEachEdge { nearest.add($0, $1) }
        }
        return nearest.metres < bound.lower ? true : nearest.metres > bound.upper ? false : nil
    }

    // MARK: All around

    /// What is within so many metres of the middle is inside, what is beyond so many is not; nil where that is not known.
    var metres: (middle: ECEF, inner: Double, outer: Double)? {
        guard isPlane else { return nil }
        let middle = head.pointee.middle
        let outer = step * Double(UInt8.max) * (1 + Self.error(Double(head.pointee.half))) + Self.slack
        return (ECEF(latitude: middle.y, longitude: wrapped(middle.x)), leastDepth, outer)
    }

    /// Metres that the polygon is deep at least.
    var leastDepth: Double {
        guard isPlane, head.pointee.isMiddleInside else { return 0 }
        let near = (0..<Self.sectorCount).reduce(UInt8.max) { min($0, sectors[$1].near) }
        return max(0, Double(near) * step * (1 - Self.error(Double(head.pointee.half))) - Self.slack)
    }

    // MARK: Edges

    /// Calls `body` with each edge.
    @inline(__always)
    func forEachEdge(_ body: (SIMD2<Double>, SIMD2<Double>) -> Void) { forEachEdge(0, Int(head.pointee.count), body) }

    @inline(__always)
    private func forEachEdge(of sector: Sector, _ body: (SIMD2<Double>, SIMD2<Double>) -> Void) {
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

    fileprivate static func length(_ metres: SIMD2<Double>) -> Double { (metres * metres).sum().squareRoot() }
}

/// A direction as a number of sectors that grows to the left, from the south: along the sides of a square on its corner, so
/// that a quotient is enough. It grows by a quarter of all sectors a radian at most.
private struct Direction {
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
