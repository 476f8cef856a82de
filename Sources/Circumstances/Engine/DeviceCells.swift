import Geodesy

/// Which devices are in which cube of 1,024 m, so that a changed place finds those near it.
struct DeviceCells {
    private var cells: [UInt64: [UInt32]] = [:]
    /// For each device its cube and its place in there.
    private var homes: [(cell: UInt64, slot: Int)] = []

    /// Of a device that is in no cube.
    static let none = UInt64.max
    private static let shift: Int32 = 18
    static let cubesMax = 1 << 15

    /// - Parameter cell: That of ``cell(_:)``, another one than the device is in.
    mutating func place(_ device: UInt32, in cell: UInt64) {
        while homes.count <= Int(device) { homes.append((Self.none, 0)) }
        remove(device)
        homes[Int(device)] = (cell, cells[cell]?.count ?? 0)
        cells[cell, default: []].append(device)
    }

    mutating func remove(_ device: UInt32) {
        guard Int(device) < homes.count, homes[Int(device)].cell != Self.none else { return }
        let (cell, slot) = homes[Int(device)]
        homes[Int(device)].cell = Self.none
        guard var devices = cells.removeValue(forKey: cell) else { return }
        let last = devices.removeLast()
        if last != device {
            devices[slot] = last
            homes[Int(last)].slot = slot
        }
        if !devices.isEmpty { cells[cell] = devices }
    }

    var isEmpty: Bool { cells.isEmpty }

    /// Devices whose cube is within `radius` metres of the position, in no order; nil where these are too many cubes to look at.
    func devices(latitude: Double, longitude: Double, radius: Double) -> [UInt32]? {
        let centre = ECEF(latitude: latitude, longitude: longitude)
        func span(_ value: Double) -> ClosedRange<Int32> {
            Self.index(value - radius - 1)...Self.index(value + radius + 1)
        }
        guard radius < 50_000 else { return nil }
        let (xs, ys, zs) = (span(centre.x), span(centre.y), span(centre.z))
        guard xs.count * ys.count * zs.count <= Self.cubesMax else { return nil }
        var found: [UInt32] = []
        for x in xs {
            for y in ys {
                for z in zs { if let devices = cells[Self.key(x, y, z)] { found += devices } }
            }
        }
        return found
    }

    private static func index(_ metres: Double) -> Int32 { Int32(metres / 1024 + 16_384) }

    static func cell(_ point: GridPoint) -> UInt64 {
        func index(_ units: Int32) -> Int32 { (units >> shift) &+ 16_384 }
        return key(index(point.x), index(point.y), index(point.z))
    }

    private static func key(_ x: Int32, _ y: Int32, _ z: Int32) -> UInt64 {
        UInt64(UInt32(bitPattern: x)) << 42 | UInt64(UInt32(bitPattern: y)) << 21 | UInt64(UInt32(bitPattern: z))
    }
}
