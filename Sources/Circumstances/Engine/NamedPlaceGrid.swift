import EngineMemory
import Geodesy

/// The places that the circumstances of one owner name, in each cell all that a device in it can have to do with.
///
/// What reaches farther is in larger cells, so that nothing is in more than some ten of them. The more an owner has in a cell, the
/// smaller its cells become, and the less far ahead they show.
final class NamedPlaceGrid {
    /// Where the places of a cell lie, one after the other, with room for the next power of two of them.
    private struct Cell: OpenSlot {
        var key: UInt64
        var start: UInt32 = 0
        var count: UInt32 = 0

        var room: Int { count == 0 ? 0 : 1 << (32 - (count - 1).leadingZeroBitCount) }
        var isFull: Bool { room == count }

        static let vacant = Cell(key: .max)
        @inline(__always) var isVacant: Bool { key == .max }
        @inline(__always) var hash: UInt64 { NamedPlaceGrid.hash(key) }
    }

    private var cells = OpenTable<Cell>(fullness: 50)
    private var places: UnsafeMutablePointer<NamedPlace>?
    private var capacity = 0
    /// Behind it nothing lies.
    private var end = 0
    /// How many are in all cells together.
    private var count = 0
    /// The levels that have any, a bit for each.
    private var levels: UInt8 = 0
    /// How often cells were halved.
    private var fineness: Int32 = 0

    private static let finenessMax: Int32 = 3
    /// More in a cell, on average, halve the cells, but for what is all in one neighbourhood.
    private static let crowd = 24
    private static let spread = 16
    private static let lastLevel = 6

    deinit {
        cells.deallocate()
        BigMemory.release(places)
    }

    /// How much farther than a rule reaches the cells show its places, metres.
    var foresight: Double { CircumstanceEngine.safeMax / Double(1 << fineness) }

    /// - Parameter place: Not one that is here.
    func insert(_ place: NamedPlace) {
        insertIntoCells(place)
        while count > Self.crowd * cells.count, cells.count > Self.spread, fineness < Self.finenessMax { halveCells() }
    }

    /// - Parameter place: As it was inserted.
    func remove(_ place: NamedPlace) {
        forEachCell(of: place) { key in
            guard let cell = find(key), let position = position(of: place, in: cell.pointee), let places else { return }
            cell.pointee.count -= 1
            count -= 1
            let first = places + Int(cell.pointee.start)
            first[position] = first[Int(cell.pointee.count)]
            if cell.pointee.count == 0 { cells.remove(cell) }
        }
    }

    /// How many cells there are, and how many places in all of them together.
    var size: (cells: Int, places: Int) { (cells.count, count) }

    /// Calls `body` with each place of which a device there may be within the reach and the foresight, and how far its point is at least, in
    /// steps.
    @inline(__always)
    func forEach(around view: View, _ body: (NamedPlace, Double) -> Void) {
        let ahead = foresight * GridPoint.unitsPerMetre
        var levels = levels
        while levels != 0 {
            let level = levels.trailingZeroBitCount
            levels &= levels - 1
            let cell = SurfaceGrid.cell(view.latitudeSteps, view.longitudeSteps, shift: shift(level))
            guard let cell = find(Self.key(level, cell))?.pointee, let places else { continue }
            for position in Int(cell.start)..<Int(cell.start) + Int(cell.count) {
                let place = places[position]
                let chord = place.point.squaredChord(to: view.point)
                let farthest = place.reachSteps + ahead
                if chord <= farthest * farthest { body(place, chord.squareRoot()) }
            }
        }
    }

    // MARK: Cells

    @inline(__always)
    private static func hash(_ key: UInt64) -> UInt64 { key &* 0x9E37_79B9_7F4A_7C15 }

    @inline(__always)
    private func find(_ key: UInt64) -> UnsafeMutablePointer<Cell>? { cells.find(Self.hash(key)) { $0.key == key } }

    @inline(__always)
    private static func key(_ level: Int, _ cell: UInt64) -> UInt64 { UInt64(level) << 56 | cell }

    /// What reaches up to 260 m, up to 520 m and so on; at last what is in one cell of the whole earth.
    private static func level(of place: NamedPlace) -> Int {
        var (level, reach) = (0, 260 * GridPoint.unitsPerMetre)
        while level < lastLevel, place.reachSteps > reach { (level, reach) = (level + 1, reach * 2) }
        return level
    }

    @inline(__always)
    private func shift(_ level: Int) -> Int32 { level == Self.lastLevel ? 32 : 17 + Int32(level) - fineness }

    private func forEachCell(of place: NamedPlace, _ body: (UInt64) -> Void) {
        let level = Self.level(of: place)
        let position = place.point.position
        let radius = min(place.reachSteps, 1e10) / GridPoint.unitsPerMetre + foresight + 1
        SurfaceGrid.forEachCell(position.latitude, position.longitude, radius: radius, shift: shift(level)) {
            body(Self.key(level, $0))
        }
    }

    private func insertIntoCells(_ place: NamedPlace) {
        levels |= 1 << UInt8(Self.level(of: place))
        forEachCell(of: place) { key in
            if find(key) == nil { cells.insert(Cell(key: key)) }
            guard let cell = find(key), !isLast(place, in: cell.pointee) else { return }
            append(place, to: cell)
        }
    }

    private func position(of place: NamedPlace, in cell: Cell) -> Int? {
        guard let first = places.map({ $0 + Int(cell.start) }) else { return nil }
        return (0..<Int(cell.count)).first { first[$0].place == place.place }
    }

    /// Whether it has just been put there: some cells come twice.
    private func isLast(_ place: NamedPlace, in cell: Cell) -> Bool {
        guard cell.count > 0, let places else { return false }
        return places[Int(cell.start) + Int(cell.count) - 1].place == place.place
    }

    private func append(_ place: NamedPlace, to cell: UnsafeMutablePointer<Cell>) {
        if cell.pointee.isFull {
            let room = max(1, 2 * cell.pointee.room)
            makeRoom(for: room)
            guard let places else { return }
            (places + end).update(from: places + Int(cell.pointee.start), count: Int(cell.pointee.count))
            cell.pointee.start = UInt32(truncatingIfNeeded: end)
            end += room
        }
        guard let places else { return }
        places[Int(cell.pointee.start) + Int(cell.pointee.count)] = place
        cell.pointee.count += 1
        count += 1
    }

    /// Room behind the end; where there is none, what cells grew out of is given up.
    private func makeRoom(for more: Int) {
        guard end + more > capacity else { return }
        var needed = more
        cells.forEach { cell in
            needed += cell.pointee.room
            return true
        }
        capacity = max(16, 2 * needed)
        let memory = BigMemory.allocate(bytes: capacity * MemoryLayout<NamedPlace>.stride)
        let next = memory.bindMemory(to: NamedPlace.self, capacity: capacity)
        end = 0
        if let places {
            cells.forEach { cell in
                (next + end).update(from: places + Int(cell.pointee.start), count: Int(cell.pointee.count))
                cell.pointee.start = UInt32(truncatingIfNeeded: end)
                end += cell.pointee.room
                return true
            }
        }
        BigMemory.release(places)
        places = next
    }

    private func halveCells() {
        var all: [NamedPlace] = []
        cells.forEach { cell in
            for position in 0..<Int(cell.pointee.count) {
                guard let place = places?[Int(cell.pointee.start) + position] else { continue }
                if isHome(cell.pointee.key, of: place) { all.append(place) }
            }
            return true
        }
        cells.removeAll()
        (end, count, levels) = (0, 0, 0)
        fineness += 1
        for place in all { insertIntoCells(place) }
    }

    /// Whether it is the one that the place itself is in, among those that show it.
    private func isHome(_ key: UInt64, of place: NamedPlace) -> Bool {
        let level = Self.level(of: place)
        let position = place.point.position
        let (latitude, longitude) = (SurfaceGrid.steps(position.latitude), SurfaceGrid.steps(position.longitude))
        return Self.key(level, SurfaceGrid.cell(latitude, longitude, shift: shift(level))) == key
    }
}
