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
        let query = Query(latitude: latitude, longitude: longitude, reach: Geodesic.chord(ofArc: Self.radiusMax))
        if let footprint = footprint(of: handle) { return hit(handle, footprint, query) }
        let own = GridPoint(latitude: records[handle].latitude, longitude: records[handle].longitude).point
        let chord = own.squaredChord(to: query.point).squareRoot()
        return chord <= query.reach ? Hit(handle: handle, distance: Geodesic.arc(ofChord: chord), isInside: false) : nil
    }
}
