import Geodesy
import Glibc

/// The polygons of one place as they are kept: one block of words, read where it lies.
///
/// Words: 0 the number of words and of vertices, 1 whose it is and the number of polygons and of rings, 2…3 the middle in degrees, 4 how far anything of it
/// is from the middle at most (metres, straight); five for each polygon (west, south, east, north on its plane of degrees, the
/// number of its last ring and one more); one for each ring (the number of its last vertex and one more); two for each vertex
/// (longitude, latitude); then each vertex as a ``GridPoint``. Rings are open here: the first vertex does not come again. Of more
/// than 64 vertices there are four words at last for every stretch of 16 edges of a ring, the box they are in
/// (``FootprintStretch``).
struct Footprint {
    private let words: UnsafeMutablePointer<UInt64>

    init(_ words: UnsafeMutablePointer<UInt64>) { self.words = words }

    var wordCount: Int { Int(words[0] >> 32) }
    var vertexCount: Int { Int(words[0] & 0xFFFF_FFFF) }
    var handle: UInt32 { UInt32(truncatingIfNeeded: words[1] >> 32) }
    var polygonCount: Int { Int(words[1] >> 16 & 0xFFFF) }
    /// At most a third of the vertices, which are at most ten thousand.
    var ringCount: Int { Int(words[1] & 0xFFFF) }
    var latitude: Double { real(2) }
    var longitude: Double { real(3) }
    var reach: Double { real(4) }

    @inline(__always)
    private func real(_ word: Int) -> Double { Double(bitPattern: words[word]) }

    private var firstRing: Int { 5 + 5 * polygonCount }
    private var firstVertex: Int { firstRing + ringCount }

    /// Degrees on the plane of a polygon.
    struct Bounds {
        var west, south, east, north: Double
    }

    @inline(__always)
    func bounds(ofPolygon number: Int) -> Bounds {
        let word = 5 + 5 * number
        return Bounds(west: real(word), south: real(word + 1), east: real(word + 2), north: real(word + 3))
    }

    func rings(ofPolygon number: Int) -> Range<Int> {
        let first = number == 0 ? 0 : Int(words[5 + 5 * (number - 1) + 4])
        return first..<Int(words[5 + 5 * number + 4])
    }

    func corners(ofRing number: Int) -> Range<Int> {
        let first = number == 0 ? 0 : Int(words[firstRing + number - 1])
        return first..<Int(words[firstRing + number])
    }

    var vertices: Vertices { Vertices(words: words + firstVertex) }

    struct Vertices {
        fileprivate let words: UnsafeMutablePointer<UInt64>

        /// x is the longitude, unwrapped; y the latitude.
        @inline(__always)
        subscript(number: Int) -> SIMD2<Double> {
            SIMD2(Double(bitPattern: words[2 * number]), Double(bitPattern: words[2 * number + 1]))
        }
    }

    var points: UnsafePointer<GridPoint> {
        UnsafeRawPointer(words + firstVertex + 2 * vertexCount).assumingMemoryBound(to: GridPoint.self)
    }

    /// Whether it has boxes for its stretches.
    var hasStretches: Bool { vertexCount > Self.plainMax }

    static let plainMax = 64

    /// The boxes of the stretches of all rings.
    @inline(__always)
    func stretchBounds(_ number: Int) -> Bounds {
        let word = firstVertex + 2 * vertexCount + (3 * vertexCount + 1) / 2 + 4 * number
        return Bounds(west: real(word), south: real(word + 1), east: real(word + 2), north: real(word + 3))
    }

    // MARK: Writing

    /// What is written into a block.
    struct Plan {
        fileprivate var vertices: [SIMD2<Double>] = []
        fileprivate var ringEnds: [Int] = []
        fileprivate var polygons: [(bounds: Bounds, ringEnd: Int)] = []
        fileprivate var stretches: [Bounds] = []
        /// The middle in degrees.
        private(set) var latitude = 0.0
        private(set) var longitude = 0.0
        private(set) var reach = 0.0

        var wordCount: Int {
            5 + 5 * polygons.count + ringEnds.count + 2 * vertices.count + (3 * vertices.count + 1) / 2 + 4 * stretches.count
        }

        init(_ polygons: [Area.Polygon]) {
            for polygon in polygons {
                var bounds = Bounds(west: .infinity, south: .infinity, east: -.infinity, north: -.infinity)
                polygon.forEachEdge { from, _, beginsRing in
                    if beginsRing, !vertices.isEmpty { ringEnds.append(vertices.count) }
                    vertices.append(from)
                    bounds.west = min(bounds.west, from.x)
                    bounds.east = max(bounds.east, from.x)
                    bounds.south = min(bounds.south, from.y)
                    bounds.north = max(bounds.north, from.y)
                }
                self.polygons.append((bounds, ringEnds.count + 1))
            }
            ringEnds.append(vertices.count)
            if vertices.count > Footprint.plainMax { stretch() }
            place()
        }

        private mutating func stretch() {
            var first = 0
            for end in ringEnds {
                for stretch in FootprintStretch.all(of: first..<end) {
                    var bounds = Bounds(west: .infinity, south: .infinity, east: -.infinity, north: -.infinity)
                    for place in [stretch.former] + stretch.places {
                        bounds.west = min(bounds.west, vertices[place].x)
                        bounds.east = max(bounds.east, vertices[place].x)
                        bounds.south = min(bounds.south, vertices[place].y)
                        bounds.north = max(bounds.north, vertices[place].y)
                    }
                    stretches.append(bounds)
                }
                first = end
            }
        }

        /// The middle of the box round all polygons, and how far they reach from it.
        private mutating func place() {
            let base = polygons[0].bounds
            var box = base
            for polygon in polygons.dropFirst() {
                // Beside the first one, whichever way round the earth is shorter.
                let turn = 360 * ((base.west + base.east - polygon.bounds.west - polygon.bounds.east) / 720).rounded()
                box.west = min(box.west, polygon.bounds.west + turn)
                box.east = max(box.east, polygon.bounds.east + turn)
                box.south = min(box.south, polygon.bounds.south)
                box.north = max(box.north, polygon.bounds.north)
            }
            latitude = (box.south + box.north) / 2
            longitude = Longitude.wrapped((box.west + box.east) / 2)
            let middle = ECEF(latitude: latitude, longitude: longitude)
            var squared = 0.0
            for vertex in vertices { squared = max(squared, middle.squaredChord(to: Longitude.point(vertex))) }
            var bulge = 0.0
            var first = 0
            for end in ringEnds {
                for place in first..<end {
                    bulge = max(bulge, Span(vertices[place], vertices[place + 1 == end ? first : place + 1]).bulge)
                }
                first = end
            }
            reach = squared.squareRoot() + bulge + 0.02
            // What is wider than a hemisphere holds points that are further from its middle than its edge is.
            if box.east - box.west > 150 || box.north - box.south > 150 { reach = .infinity }
        }

        /// - Parameter handle: Whose it is.
        func write(to words: UnsafeMutablePointer<UInt64>, of handle: UInt32) {
            words[0] = UInt64(wordCount) << 32 | UInt64(vertices.count)
            words[1] = UInt64(handle) << 32 | UInt64(polygons.count) << 16 | UInt64(ringEnds.count)
            words[2] = latitude.bitPattern
            words[3] = longitude.bitPattern
            words[4] = reach.bitPattern
            var word = 5
            for polygon in polygons {
                for degrees in [polygon.bounds.west, polygon.bounds.south, polygon.bounds.east, polygon.bounds.north] {
                    words[word] = degrees.bitPattern
                    word += 1
                }
                words[word] = UInt64(polygon.ringEnd)
                word += 1
            }
            for end in ringEnds {
                words[word] = UInt64(end)
                word += 1
            }
            for vertex in vertices {
                words[word] = vertex.x.bitPattern
                words[word + 1] = vertex.y.bitPattern
                word += 2
            }
            let points = UnsafeMutableRawPointer(words + word).bindMemory(to: GridPoint.self, capacity: vertices.count)
            for (place, vertex) in vertices.enumerated() { points[place] = GridPoint(Longitude.point(vertex)) }
            word += (3 * vertices.count + 1) / 2
            for bounds in stretches {
                for degrees in [bounds.west, bounds.south, bounds.east, bounds.north] {
                    words[word] = degrees.bitPattern
                    word += 1
                }
            }
        }
    }

    /// The polygons as they were given, but for repeated positions; rings are closed.
    var polygons: [[[Area.Polygon.Vertex]]] {
        let vertices = vertices
        return (0..<polygonCount).map { polygon in
            rings(ofPolygon: polygon).map { ring in
                let range = corners(ofRing: ring)
                var result = range.map { place in
                    Area.Polygon.Vertex(longitude: Longitude.given(vertices[place].x), latitude: vertices[place].y)
                }
                if let first = result.first { result.append(first) }
                return result
            }
        }
    }
}

/// Longitudes beyond ±180, as they are on the plane of a polygon that lies across the antimeridian.
enum Longitude {
    static func wrapped(_ degrees: Double) -> Double {
        var result = degrees
        while result > 180 { result -= 360 }
        while result < -180 { result += 360 }
        return result
    }

    /// As it was written: adding and taking away a turn leaves noise behind the twelfth decimal.
    static func given(_ degrees: Double) -> Double {
        guard abs(degrees) > 180 else { return degrees }
        let result = wrapped(degrees)
        let rounded = (result * 1e9).rounded() / 1e9
        return abs(rounded - result) < 1e-12 ? rounded : result
    }

    static func point(_ vertex: SIMD2<Double>) -> ECEF { ECEF(latitude: vertex.y, longitude: wrapped(vertex.x)) }
}
