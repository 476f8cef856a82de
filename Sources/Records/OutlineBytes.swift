import Geodesy
import Places

/// The polygons of a place as they are written in a row: counts as 32 bits, longitudes and latitudes as 64, all little-endian.
enum OutlineBytes {
    /// nil for a point.
    static func encode(_ geometry: PlaceGeometry) -> [UInt8]? {
        guard case .polygons(let polygons) = geometry else { return nil }
        var bytes: [UInt8] = []
        append(polygons.count, to: &bytes)
        for polygon in polygons {
            append(polygon.rings.count, to: &bytes)
            for ring in polygon.rings {
                append(ring.count, to: &bytes)
                for vertex in ring {
                    append(vertex.longitude, to: &bytes)
                    append(vertex.latitude, to: &bytes)
                }
            }
        }
        return bytes
    }

    /// nil for what this did not write.
    static func decode(_ bytes: [UInt8]) -> PlaceGeometry? {
        var rest = bytes[...]
        guard let count = takeCount(from: &rest) else { return nil }
        var polygons: [[[Area.Polygon.Vertex]]] = []
        for _ in 0..<count {
            guard let rings = rings(from: &rest) else { return nil }
            polygons.append(rings)
        }
        return rest.isEmpty ? try? PlaceGeometry(polygons: polygons) : nil
    }

    private static func rings(from rest: inout ArraySlice<UInt8>) -> [[Area.Polygon.Vertex]]? {
        guard let count = takeCount(from: &rest) else { return nil }
        var rings: [[Area.Polygon.Vertex]] = []
        for _ in 0..<count {
            guard let length = takeCount(from: &rest), rest.count >= length * 16 else { return nil }
            var ring: [Area.Polygon.Vertex] = []
            ring.reserveCapacity(length)
            for _ in 0..<length {
                let longitude = takeDouble(from: &rest)
                ring.append(Area.Polygon.Vertex(longitude: longitude, latitude: takeDouble(from: &rest)))
            }
            rings.append(ring)
        }
        return rings
    }

    private static func append(_ count: Int, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: count).littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func append(_ number: Double, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// A count of things of at least four bytes, which must be there.
    private static func takeCount(from rest: inout ArraySlice<UInt8>) -> Int? {
        guard rest.count >= 4 else { return nil }
        let count = rest.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) }
        rest = rest.dropFirst(4)
        return Int(count) <= rest.count / 4 ? Int(count) : nil
    }

    /// Eight bytes, which are there.
    private static func takeDouble(from rest: inout ArraySlice<UInt8>) -> Double {
        defer { rest = rest.dropFirst(8) }
        return Double(bitPattern: rest.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) })
    }
}
