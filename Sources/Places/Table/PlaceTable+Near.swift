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
    func search(latitude: Double, longitude: Double, radius: Double, _ body: (Hit) -> Bool) {
        let point = ECEF(latitude: latitude, longitude: longitude)
        let reach = Geodesic.chord(ofArc: radius)
        let squared = reach * reach
        var goesOn = true
        let span = CellSpan(latitude: latitude, longitude: longitude, point: point, reach: reach + 0.01)
        let scale = GridPoint.unitsPerMetre
        let (x, y, z) = (point.x * scale, point.y * scale, point.z * scale)
        let limit = squared * scale * scale
        cells.forEachCell(0, in: span) { entries in
            guard goesOn else { return }
            for entry in entries {
                let (dx, dy, dz) = (Double(entry.x) - x, Double(entry.y) - y, Double(entry.z) - z)
                let chord = dx * dx + dy * dy + dz * dz
                guard chord <= limit else { continue }
                let distance = Geodesic.arc(ofChord: chord.squareRoot() * (1 / scale))
                goesOn = body(Hit(handle: entry.handle, distance: distance, isInside: false))
                if !goesOn { return }
            }
        }
        for level in 1..<CellShape.levels where goesOn {
            let most = reach + CellShape.reach(level) + 0.03
            guard !cells.isEmpty(level) else { continue }
            let span = CellSpan(latitude: latitude, longitude: longitude, point: point, reach: most)
            let limit = most * most * scale * scale
            cells.forEachCell(level, in: span) { entries in
                guard goesOn else { return }
                for entry in entries {
                    let (dx, dy, dz) = (Double(entry.x) - x, Double(entry.y) - y, Double(entry.z) - z)
                    guard dx * dx + dy * dy + dz * dz <= limit else { continue }
                    let footprint = Footprint(arena.address(of: records[entry.handle].footprint))
                    guard let hit = hit(entry.handle, footprint, latitude, longitude, point, squaredReach: squared) else {
                        continue
                    }
                    goesOn = body(hit)
                    if !goesOn { return }
                }
            }
        }
        for handle in vast where goesOn {
            let footprint = Footprint(arena.address(of: records[handle].footprint))
            if let hit = hit(handle, footprint, latitude, longitude, point, squaredReach: squared) { goesOn = body(hit) }
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
        let squared = footprint.squaredDistanceToEdge(from: point, limit: limit)
        guard squared < limit else { return nil }
        return Hit(handle: handle, distance: Geodesic.arc(ofChord: squared.squareRoot()), isInside: false)
    }
}
