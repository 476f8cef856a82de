import Foundation
import Geodesy
import SeededRandom
import Testing

@testable import Geofencing

@Suite("Areas of geofences")
struct FenceAreaTests {
    private func ring(_ points: [(Double, Double)]) -> [Area.Polygon.Vertex] {
        (points + points.prefix(1)).map { Area.Polygon.Vertex(longitude: $0.0, latitude: $0.1) }
    }

    /// The distance to the nearest of very many points of the edges: never less than the true one, and little more.
    private func sampled(_ rings: [[Area.Polygon.Vertex]], _ latitude: Double, _ longitude: Double, pieces: Int) -> Double {
        var nearest = Double.infinity
        for ring in rings {
            for (from, to) in zip(ring, ring.dropFirst()) {
                var step = to.longitude - from.longitude
                if step > 180 { step -= 360 } else if step < -180 { step += 360 }
                for piece in 0...pieces {
                    let share = Double(piece) / Double(pieces)
                    let x = from.longitude + step * share
                    nearest = min(
                        nearest,
                        Geodesic.distance(
                            fromLatitude: latitude, fromLongitude: longitude,
                            toLatitude: from.latitude + (to.latitude - from.latitude) * share,
                            toLongitude: x > 180 ? x - 360 : x < -180 ? x + 360 : x))
                }
            }
        }
        return nearest
    }

    @Test(
        "Distances to edges are those to the nearest of many points of them, near and far, at any latitude and across the antimeridian",
        arguments: [(43.7, 7.4, 0.001), (70, 179.9995, 0.002), (-33, -180, 0.5), (0, 0, 8), (82, 100, 3), (-60, 170, 25)])
    func distances(latitude: Double, longitude: Double, size: Double) throws {
        var random = SplitMix64.forTest()
        func wrap(_ x: Double) -> Double { x > 180 ? x - 360 : x < -180 ? x + 360 : x }
        let corners = (0..<7).map { corner -> (Double, Double) in
            let angle = Double(corner) / 7 * 2 * .pi
            let reach = size * Double.random(in: 0.3...1, using: &random)
            return (wrap(longitude + reach * cos(angle)), latitude + reach * 0.25 * sin(angle))
        }
        let hole = (0..<3).map { corner -> (Double, Double) in
            let angle = Double(corner) / 3 * 2 * .pi
            return (wrap(longitude + size * 0.05 * cos(angle)), latitude + size * 0.05 * sin(angle))
        }
        let rings = [ring(corners), ring(hole)]
        let polygon = try Area.Polygon(rings: rings)
        let area = FenceArea([polygon])
        for _ in 0..<12 {
            let x = wrap(longitude + size * Double.random(in: -2...2, using: &random))
            let y = max(-89, min(89, latitude + size * Double.random(in: -0.6...0.6, using: &random)))
            let signed = area.signedMetres(latitude: y, longitude: x)
            #expect((signed <= 0) == polygon.contains(latitude: y, longitude: x))
            #expect(area.contains(latitude: y, longitude: x) == polygon.contains(latitude: y, longitude: x))
            let nearest = sampled(rings, y, x, pieces: 1000)
            let slack = 0.001 + size * 111_320 * 2 / 1000
            #expect(abs(signed) <= nearest + 0.001 && abs(signed) >= nearest - slack, "\(y) \(x): \(signed) \(nearest)")
        }
    }

    @Test(
        "What lies beyond or within so many metres is found without its distance, and is what that says",
        arguments: [(43.7, 7.4, 0.001), (70, 179.9995, 0.002), (-33, -180, 0.05), (74.9, 0, 0.1), (0, 0, 3), (88, 100, 3)])
    func compared(latitude: Double, longitude: Double, size: Double) throws {
        var random = SplitMix64.forTest()
        func wrap(_ x: Double) -> Double { x > 180 ? x - 360 : x < -180 ? x + 360 : x }
        for (round, count) in [9, 9, 65, 200, 300, 900].enumerated() {
            let corners = (0..<count).map { corner -> (Double, Double) in
                let angle = Double(corner) / Double(count) * 2 * .pi
                let reach = size * Double.random(in: 0.2...1, using: &random)
                return (wrap(longitude + reach * cos(angle)), latitude + reach * 0.3 * sin(angle))
            }
            // Several holes are in one run of edges.
            let holes = [-0.06, 0, 0.06].map { offset in
                (0..<3).map { corner -> (Double, Double) in
                    let angle = Double(corner) / 3 * 2 * .pi
                    return (wrap(longitude + size * (offset + 0.02 * cos(angle))), latitude + size * 0.02 * sin(angle) * 0.3)
                }
            }
            let polygon = try Area.Polygon(rings: [ring(corners)] + (round % 2 == 0 ? [] : holes.map(ring)))
            let outlined = FenceArea([polygon])
            let east = wrap(longitude + size)
            for (x, y) in corners { #expect(outlined.contains(latitude: y, longitude: x), "\(y) \(x)") }
            let box = try Area.Box(west: wrap(longitude - size), south: latitude, east: east, north: latitude + size / 3)
            for area in [outlined, FenceArea(box), FenceArea([polygon, polygon])] {
                if round == 0 { #expect(area.leastDepth <= area.depth * 1.02) }
                for _ in 0..<12 {
                    let x = wrap(longitude + size * Double.random(in: -1.5...1.5, using: &random))
                    let y = max(-90, min(90, latitude + size * Double.random(in: -0.5...0.5, using: &random)))
                    #expect(
                        outlined.contains(latitude: y, longitude: x) == polygon.contains(latitude: y, longitude: x))
                    let signed = area.signedMetres(latitude: y, longitude: x)
                    for metres in [0, abs(signed) * 0.999, abs(signed) * 1.001, abs(signed) * 0.97, abs(signed) * 1.03] {
                        #expect(area.isBeyond(metres, latitude: y, longitude: x) == (signed > metres), "\(y) \(x) \(metres)")
                        #expect(
                            area.isInside(by: metres, latitude: y, longitude: x) == (-signed >= metres && signed <= 0),
                            "\(y) \(x) \(metres)")
                    }
                }
            }
        }
    }

    /// Corners in parts of a side, of which there are 64.
    private static let shapes: [(name: String, rings: [[(Double, Double)]])] = [
        ("a square", [[(0, 0), (64, 0), (64, 64), (0, 64)]]),
        ("an L with its corner in the middle", [[(0, 0), (64, 0), (64, 32), (32, 32), (32, 64), (0, 64)]]),
        (
            "a cross with edges on both axes",
            [
                [
                    (16, 0), (32, 0), (32, 24), (64, 24), (64, 32), (40, 32), (40, 64), (32, 64), (32, 40), (0, 40), (0, 32),
                    (16, 32),
                ]
            ]
        ),
        ("a C around its middle", [[(0, 0), (64, 0), (64, 16), (16, 16), (16, 48), (64, 48), (64, 64), (0, 64)]]),
        ("a frame", [[(0, 0), (64, 0), (64, 64), (0, 64)], [(16, 16), (48, 16), (48, 48), (16, 48)]]),
        (
            "holes beside and on the middle",
            [
                [(0, 0), (64, 0), (64, 64), (0, 64)], [(32, 32), (40, 32), (40, 40)], [(8, 8), (24, 8), (8, 24)],
                [(44, 8), (60, 8), (52, 20)],
            ]
        ),
        (
            "a spiral",
            [
                [
                    (0, 0), (64, 0), (64, 64), (8, 64), (8, 16), (48, 16), (48, 48), (24, 48), (24, 32), (32, 32), (32, 40),
                    (40, 40),
                    (40, 24), (16, 24), (16, 56), (56, 56), (56, 8), (0, 8),
                ]
            ]
        ),
        ("a strip", [[(0, 0), (4, 0), (64, 60), (64, 64), (60, 64), (0, 4)]]),
        ("spikes along lines from the middle", [[(0, 0), (32, 24), (64, 0), (40, 32), (64, 64), (32, 40), (0, 64), (24, 32)]]),
    ]

    @Test(
        "In any direction from the middle, on edges and corners and beside them, what is inside is what all edges say",
        arguments: [(43.75, 7.5, 65_536), (-17, 180, 4096), (64, -180.5, 64), (0, 0, 32_768)])
    func directions(latitude: Double, longitude: Double, parts: Double) throws {
        let part = 1 / parts
        var random = SplitMix64.forTest()
        func wrap(_ x: Double) -> Double { x > 180 ? x - 360 : x < -180 ? x + 360 : x }
        for shape in Self.shapes {
            let rings = shape.rings.map { ring($0.map { (wrap(longitude + $0.0 * part), latitude + $0.1 * part) }) }
            let polygon = try Area.Polygon(rings: rings)
            let area = FenceArea([polygon])
            var places: [(Double, Double)] = []
            // Exact in binary: these lie on edges, corners and lines through the middle.
            for x in stride(from: -4.0, through: 68, by: 2) {
                for y in stride(from: -4.0, through: 68, by: 2) { places.append((x, y)) }
            }
            for _ in 0..<400 {
                places.append((Double.random(in: -8...72, using: &random), Double.random(in: -8...72, using: &random)))
                // Close to the middle, and close to the lines along the axes.
                let near = Double.random(in: -1e-5...1e-5, using: &random)
                places.append((32 + near, 32 + Double.random(in: -1e-5...1e-5, using: &random)))
                places.append((32 + near, Double.random(in: 0...64, using: &random)))
                places.append((Double.random(in: 0...64, using: &random), 32 + near))
            }
            for (x, y) in places {
                let (east, north) = (wrap(longitude + x * part), latitude + y * part)
                #expect(
                    area.contains(latitude: north, longitude: east) == polygon.contains(latitude: north, longitude: east),
                    "\(shape.name): \(x) \(y)")
            }
            for _ in 0..<12 {
                let x = wrap(longitude + Double.random(in: -16...80, using: &random) * part)
                let y = latitude + Double.random(in: -16...80, using: &random) * part
                let signed = area.signedMetres(latitude: y, longitude: x)
                for share in [0.5, 0.97, 0.999, 1.001, 1.03, 2] {
                    let metres = abs(signed) * share
                    #expect(area.isBeyond(metres, latitude: y, longitude: x) == (signed > metres), "\(shape.name): \(y) \(x)")
                    #expect(
                        area.isInside(by: metres, latitude: y, longitude: x) == (-signed >= metres), "\(shape.name): \(y) \(x)")
                }
            }
        }
    }

    @Test("Just beside a long edge, which is no geodesic, the distance is right to 2 cm")
    func longEdges() throws {
        // A parallel at 60° north lies far south of the shortest line between its ends.
        let polygon = try Area.Polygon(rings: [ring([(0, 50), (40, 50), (40, 60), (0, 60)])])
        let area = FenceArea([polygon])
        // A degree of the meridian there is 111,412 m.
        for metres in [5.0, -5, 500, -500] {
            let signed = area.signedMetres(latitude: 60 + metres / 111_412.24, longitude: 20)
            #expect(abs(signed - metres) < 0.02 + abs(metres) * 1e-4, "\(signed)")
        }
    }

    @Test("Boxes have the distances of their sides; one round the whole earth has no meridians, and the whole earth no edge")
    func boxes() throws {
        let box = FenceArea(try Area.Box(west: 179, south: -1, east: -179, north: 1))
        #expect(box.contains(latitude: 0, longitude: 180) && !box.contains(latitude: 0, longitude: 178))
        #expect(abs(box.signedMetres(latitude: 0, longitude: 180) + 110_574) < 10)
        #expect(abs(box.signedMetres(latitude: 0, longitude: 178) - 111_320) < 10)
        let belt = FenceArea(try Area.Box(west: -180, south: -10, east: 180, north: 10))
        for longitude in [-180, -90, 0, 17, 180.0] { #expect(belt.contains(latitude: 0, longitude: longitude)) }
        #expect(abs(belt.signedMetres(latitude: 11, longitude: 179) - 110_610) < 20)
        #expect(belt.signedMetres(latitude: 0, longitude: -180) < -1_100_000)
        let cap = FenceArea(try Area.Box(west: -180, south: 80, east: 180, north: 90))
        #expect(cap.contains(latitude: 90, longitude: 3) && cap.signedMetres(latitude: 90, longitude: 3) < -1_100_000)
        let earth = FenceArea(try Area.Box(west: -180, south: -90, east: 180, north: 90))
        #expect(earth.contains(latitude: -90, longitude: 0) && earth.signedMetres(latitude: 1, longitude: 1) < -1e7)
    }

    @Test("The depth of an area is that of its deepest point")
    func depths() throws {
        let circle = FenceArea(try Area.Circle(latitude: 43, longitude: 7, radius: 123))
        #expect(circle.depth == 123)
        // 1 km by 200 m: 100 m deep, whatever its length.
        let strip = FenceArea([
            try Area.Polygon(rings: [ring([(0, 0), (1000 / 111_320, 0), (1000 / 111_320, 200 / 110_574), (0, 200 / 110_574)])])
        ])
        #expect(abs(strip.depth - 100) < 3)
        // With a hole in its middle a square is shallow.
        let outer = ring([(0, 0), (0.01, 0), (0.01, 0.01), (0, 0.01)])
        let hole = ring([(0.004, 0.004), (0.006, 0.004), (0.006, 0.006), (0.004, 0.006)])
        let holed = FenceArea([try Area.Polygon(rings: [outer, hole])])
        #expect(holed.depth < 0.003 * 111_320 && holed.depth > 0.002 * 110_574)
    }

    @Test("A position that a fix's margin brings within reach is never ruled out by bounds")
    func reach() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<2000 {
            let latitude = Double.random(in: -88...88, using: &random)
            let longitude = Double.random(in: -180...180, using: &random)
            let side = Double.random(in: 0.001...2, using: &random)
            let east = longitude + side > 180 ? longitude + side - 360 : longitude + side
            let area = FenceArea(
                try Area.Box(west: longitude, south: latitude, east: east, north: min(90, latitude + side / 2)))
            let y = max(-90, min(90, latitude + Double.random(in: -2...2, using: &random)))
            var x = longitude + Double.random(in: -4...4, using: &random)
            if x > 180 { x -= 360 } else if x < -180 { x += 360 }
            let signed = area.signedMetres(latitude: y, longitude: x)
            if signed > 0 {
                #expect(area.mayReach(latitude: y, longitude: x, metres: signed * 1.001), "\(y) \(x) \(latitude) \(longitude)")
            }
        }
    }
}
