extension Area {
    /// What lies between two meridians and two parallels; across the antimeridian when west is greater than east.
    public struct Box: Equatable, Sendable {
        /// Degrees.
        public let west, south, east, north: Double

        /// - Throws: ``AreaError/box`` unless these are degrees on the earth and south is not above north.
        public init(west: Double, south: Double, east: Double, north: Double) throws(AreaError) {
            guard Position.isValid(latitude: south, longitude: west), Position.isValid(latitude: north, longitude: east),
                south <= north
            else { throw .box }
            self.init(checkedWest: west, south: south, east: east, north: north)
        }

        init(checkedWest west: Double, south: Double, east: Double, north: Double) {
            self.west = west
            self.south = south
            self.east = east
            self.north = north
        }

        public func contains(latitude: Double, longitude: Double) -> Bool {
            guard south <= latitude, latitude <= north else { return false }
            // A pole lies on every meridian.
            if abs(latitude) == 90 { return true }
            return eastward(to: longitude) <= width
        }

        /// Degrees from west to east, 0…360.
        public var width: Double { west > east ? east - west + 360 : east - west }

        /// Degrees from west to a meridian, 0..<360: the same sum as ``width``, so that the east edge compares equal.
        private func eastward(to longitude: Double) -> Double {
            let degrees = longitude < west ? longitude - west + 360 : longitude - west
            return degrees == 360 ? 0 : degrees
        }
    }
}
