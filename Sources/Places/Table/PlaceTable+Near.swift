import CPrefetch
import Geodesy

extension PlaceTable {
    /// A place near a position.
    public struct Hit: Equatable, Sendable {
        public var handle: Handle
        /// Metres along the ellipsoid to the point, or to the nearest edge of the polygons; 0 inside.
        public var distance: Double
        /// Whether the position is in one of its polygons; what is on an edge is inside. Of a point false.
        public var isInside: Bool

        public init(handle: Handle, distance: Double, isInside: Bool) {
            self.handle = handle
            self.distance = distance
            self.isInside = isInside
        }
    }

    /// The largest radius of a query, in metres.
    public static let radiusMax = 20_000.0

    /// Calls `body` with each place within a distance of a position, in no order.
    ///
    /// - Parameters:
    ///   - latitude: Degrees, as longitude; where they are not on the earth, nothing is near.
    ///   - radius: Metres, up to ``radiusMax``; a larger one is taken as that, and below 0 nothing is near. Distances are right to
    ///     1 cm at any latitude and across the antimeridian.
    @inline(__always)
    public func near(latitude: Double, longitude: Double, radius: Double, _ body: (Hit) -> Void) {
        guard Position.isValid(latitude: latitude, longitude: longitude), radius >= 0 else { return }
        search(latitude: latitude, longitude: longitude, radius: min(radius, Self.radiusMax)) { hit in
            body(hit)
            return true
        }
    }

    /// All places within a distance of a position, nearest first; of equally near ones the lesser id (by its bytes) first.
    public func nearest(latitude: Double, longitude: Double, radius: Double) -> [Hit] {
        var hits: [Hit] = []
        near(latitude: latitude, longitude: longitude, radius: radius) { hits.append($0) }
        hits.sort { left, right in
            left.distance != right.distance
                ? left.distance < right.distance : id(of: left.handle).precedes(id(of: right.handle))
        }
        return hits
    }

    /// The distance of one place, whatever it is near to; nil: it is further than ``radiusMax``, or the position is not on the
    /// earth.
    public func hit(_ handle: Handle, latitude: Double, longitude: Double) -> Hit? {
        guard contains(handle), Position.isValid(latitude: latitude, longitude: longitude) else { return nil }
        let point = ECEF(latitude: latitude, longitude: longitude)
        let reach = Geodesic.chord(ofArc: Self.radiusMax)
        if let footprint = footprint(of: handle) {
            return hit(handle, footprint, latitude, longitude, point, squaredReach: reach * reach)
        }
        let own = GridPoint(latitude: records[handle].latitude, longitude: records[handle].longitude).point
        let chord = own.squaredChord(to: point).squareRoot()
        return chord <= reach ? Hit(handle: handle, distance: Geodesic.arc(ofChord: chord), isInside: false) : nil
    }

    /// - Parameter body: Returns whether to go on.
    @inline(__always)
    func search(latitude: Double, longitude: Double, radius: Double, _ body: (Hit) -> Bool) {
        let point = ECEF(latitude: latitude, longitude: longitude)
        let reach = Geodesic.chord(ofArc: radius)
        let middle = Entry(GridPoint(point), 0)
        guard searchPoints(latitude, longitude, point, middle, reach: reach, body) else { return }
        for level in 1..<CellShape.levels where !cells.isEmpty(level) {
            guard searchOutlines(level, latitude, longitude, point, middle, reach: reach, body) else { return }
        }
        for handle in vast {
            let footprint = Footprint(arena.address(of: records[handle].footprint))
            guard let hit = hit(handle, footprint, latitude, longitude, point, squaredReach: reach * reach) else { continue }
            guard body(hit) else { return }
        }
    }

    private typealias Entry = PlaceCells.Entry

    @inline(__always)
    private func searchPoints(
        _ latitude: Double, _ longitude: Double, _ point: ECEF, _ middle: Entry, reach: Double, _ body: (Hit) -> Bool
    ) -> Bool {
        guard !cells.isEmpty(0) else { return true }
        let span = CellSpan(latitude: latitude, longitude: longitude, point: point, reach: reach + 0.01)
        let sieve = Sieve(middle, reach: reach)
        let squared = reach * reach
        return withUnsafeTemporaryAllocation(of: Int.self, capacity: Sieve.most) { passed in
            var goesOn = true
            cells.forEachCell(0, in: span) { entries in
                var first = 0
                while first < entries.count {
                    let next = min(first + Sieve.most, entries.count)
                    for place in 0..<sieve.sift(entries, first..<next, into: passed) {
                        let entry = entries[passed[place]]
                        let chord = entry.point.squaredChord(to: point)
                        guard chord <= squared else { continue }
                        goesOn = body(Hit(handle: entry.handle, distance: Self.arc(chord.squareRoot()), isInside: false))
                        if !goesOn { return false }
                    }
                    first = next
                }
                return true
            }
            return goesOn
        }
    }

    /// As ``Geodesic/arc(ofChord:)``, without its division.
    @inline(__always)
    private static func arc(_ chord: Double) -> Double {
        chord + chord * chord * chord * (1 / (24 * Ellipsoid.meanRadius * Ellipsoid.meanRadius))
    }

    private func searchOutlines(
        _ level: Int, _ latitude: Double, _ longitude: Double, _ point: ECEF, _ middle: Entry, reach: Double,
        _ body: (Hit) -> Bool
    ) -> Bool {
        let most = reach + CellShape.reach(level) + 0.03
        let span = CellSpan(latitude: latitude, longitude: longitude, point: point, reach: most)
        let sieve = Sieve(middle, reach: most)
        // Records and outlines lie anywhere: they are asked for together, before the first is waited for.
        var waiting = InlineArray<16, Handle>(repeating: 0)
        var count = 0
        func settle() -> Bool {
            for place in 0..<count {
                let address = arena.address(of: records[waiting[place]].footprint)
                for line in 0..<5 { geomatch_prefetch(address + 8 * line) }
            }
            for place in 0..<count {
                let footprint = Footprint(arena.address(of: records[waiting[place]].footprint))
                guard let hit = hit(waiting[place], footprint, latitude, longitude, point, squaredReach: reach * reach) else {
                    continue
                }
                guard body(hit) else { return false }
            }
            count = 0
            return true
        }
        var goesOn = true
        cells.forEachCell(level, in: span) { entries in
            for entry in entries where sieve.passes(entry) {
                let farthest = reach + entry.share * CellShape.reach(level) + 0.03
                guard entry.point.squaredChord(to: point) <= farthest * farthest else { continue }
                geomatch_prefetch(records.base + Int(entry.handle))
                waiting[count] = entry.handle
                count += 1
                if count == 16 { goesOn = settle() }
                if !goesOn { return false }
            }
            return true
        }
        return goesOn && settle()
    }

    /// Lets through what may be within a straight distance of a point, and little else.
    private struct Sieve {
        private let middle: SIMD4<Int32>
        private let limit: Float

        /// - Parameter reach: Metres.
        init(_ middle: Entry, reach: Double) {
            self.middle = middle.lanes
            // Both points are rounded, and single precision keeps seven digits.
            let units = Float(reach * GridPoint.unitsPerMetre) * 1.000_01 + 8
            limit = units * units
        }

        /// A difference of 4,000 km or more may wrap round, and then is long still (``GridPoint``).
        @inline(__always)
        func passes(_ entry: Entry) -> Bool {
            let step = SIMD4<Float>((entry.lanes &- middle) & SIMD4(-1, -1, -1, 0))
            return (step * step).sum() <= limit
        }

        /// How many entries are sifted at a time.
        static let most = 64

        /// Writes the places of those that pass, and returns how many they are.
        ///
        /// Without a branch for each: a fifth passes, at random, and a branch that is guessed wrong costs more than the rest.
        @inline(__always)
        func sift(
            _ entries: UnsafeBufferPointer<Entry>, _ range: Range<Int>, into passed: UnsafeMutableBufferPointer<Int>
        ) -> Int {
            var count = 0
            for place in range {
                passed[count] = place
                count += passes(entries[place]) ? 1 : 0
            }
            return count
        }
    }

    private func hit(
        _ handle: Handle, _ footprint: Footprint, _ latitude: Double, _ longitude: Double, _ point: ECEF, squaredReach: Double
    ) -> Hit? {
        if footprint.contains(latitude: latitude, longitude: longitude) {
            return Hit(handle: handle, distance: 0, isInside: true)
        }
        // A hair more than the reach, so that what is exactly there is found.
        let limit = squaredReach * (1 + 1e-12) + 1e-12
        let squared = footprint.squaredDistanceToEdge(
            from: point, latitude: latitude, longitude: longitude, limit: limit)
        guard squared < limit else { return nil }
        return Hit(handle: handle, distance: Geodesic.arc(ofChord: squared.squareRoot()), isInside: false)
    }
}
