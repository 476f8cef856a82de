/// Which devices are in which cell of the ``SurfaceGrid``, so that a changed place finds those near it.
struct DeviceCells {
    private var cells: [UInt64: [UInt32]] = [:]
    /// For each device its cell and its position in there.
    private var homes: [(cell: UInt64, slot: Int)] = []

    /// Of a device that is in no cell.
    private static let none = UInt64.max
    /// Of about one kilometre.
    private static let shift: Int32 = 17

    /// The cell of a position in steps of the ``SurfaceGrid``.
    @inline(__always)
    static func cell(_ latitude: Int32, _ longitude: Int32) -> UInt64 { SurfaceGrid.cell(latitude, longitude, shift: shift) }

    mutating func place(_ device: UInt32, in cell: UInt64) {
        while homes.count <= Int(device) { homes.append((Self.none, 0)) }
        guard homes[Int(device)].cell != cell else { return }
        remove(device)
        cells[cell, default: []].append(device)
        homes[Int(device)] = (cell, cells[cell].map { $0.count - 1 } ?? 0)
    }

    mutating func remove(_ device: UInt32) {
        guard Int(device) < homes.count, homes[Int(device)].cell != Self.none else { return }
        let (cell, slot) = homes[Int(device)]
        homes[Int(device)].cell = Self.none
        guard let last = cells[cell]?.popLast() else { return }
        if last != device {
            cells[cell]?[slot] = last
            homes[Int(last)].slot = slot
        }
        if cells[cell]?.isEmpty == true { cells[cell] = nil }
    }

    var isEmpty: Bool { cells.isEmpty }

    /// Devices whose cell is within `radius` metres of the position, in no order, some twice; nil where the radius is too large.
    func devices(latitude: Double, longitude: Double, radius: Double) -> [UInt32]? {
        guard radius < 50_000 else { return nil }
        var found: [UInt32] = []
        SurfaceGrid.forEachCell(latitude, longitude, radius: radius + 1, shift: Self.shift) { cell in
            if let devices = cells[cell] { found += devices }
        }
        return found
    }
}
