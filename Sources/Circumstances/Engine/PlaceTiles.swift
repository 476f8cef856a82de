import EngineMemory
import Geodesy

/// The places that rules ask for without naming them, cell by cell: each cell has all that a device in it can have to do with, and what is
/// true of each.
///
/// A look at a device so reads one run of memory for each ``Scale`` its rules have, instead of asking for all places around. Cells are
/// made when a device is looked at in them, and given up when a place in their reach changes or a rule asks for more.
struct PlaceTiles: ~Copyable {
    /// By predicate the scales whose cells show the places it is true of, a bit for each.
    private var scales: [UInt8] = []
    private var cells = OpenTable<CellSlot>(fullness: 50)
    /// How many cells each scale has.
    private var counts = [Int](repeating: 0, count: Scale.count)
    /// Runs of cells, each a ``PlaceTile``.
    private var words: UnsafeMutablePointer<Int32>?
    private var capacity = 0
    private var end = 0
    private var lost = 0

    /// Where the words of a cell begin.
    private struct CellSlot: OpenSlot {
        var key: UInt64
        var start: Int

        // No cell has this key.
        static let vacant = CellSlot(key: .max, start: 0)
        @inline(__always) var isVacant: Bool { key == .max }
        @inline(__always) var hash: UInt64 { PlaceTiles.hash(key) }
    }

    @inline(__always)
    private static func hash(_ key: UInt64) -> UInt64 { key &* 0x9E37_79B9_7F4A_7C15 }

    @inline(__always)
    private func find(_ key: UInt64) -> UnsafeMutablePointer<CellSlot>? { cells.find(Self.hash(key)) { $0.key == key } }

    private static let wordsMax = 1 << 28
    /// How much farther than a rule reaches cells show places, metres: farther, cells are larger and gain nothing.
    static let foresight = 100.0

    init() {}

    deinit {
        cells.deallocate()
        if let words { BigMemory.release(words) }
    }

    // MARK: What is shown

    /// A rule asks for places.
    mutating func show(_ query: PlaceQuery) {
        let index = Int(query.predicate)
        while scales.count <= index { scales.append(0) }
        guard scales[index] & 1 << query.scale == 0 else { return }
        scales[index] |= 1 << query.scale
        if counts[query.scale] > 0 { forgetAll() }
    }

    /// Nothing that was known of places and predicates holds any more.
    mutating func forgetPredicates() {
        scales.removeAll()
        forgetAll()
    }

    /// What is true of places has changed.
    mutating func forgetAll() {
        cells.removeAll()
        for scale in 0..<Scale.count { counts[scale] = 0 }
        end = 0
        lost = 0
    }

    /// Gives up the cells that can show a place.
    mutating func forget(_ extent: PlaceExtent) {
        for scale in 0..<Scale.count where counts[scale] > 0 { forget(extent, at: scale) }
    }

    private mutating func forget(_ extent: PlaceExtent, at scale: Int) {
        let shift = Scale.shift(scale)
        let reach = extent.radius + Scale.reach(scale) + Self.foresight + 1
        guard reach < 8 * SurfaceGrid.height(shift) else { return forgetAll() }
        var keys: [UInt64] = []
        SurfaceGrid.forEachCell(extent.latitude, extent.longitude, radius: reach, shift: shift) {
            keys.append(Self.key(scale, $0))
        }
        for key in keys {
            guard let cell = find(key) else { continue }
            let start = cell.pointee.start
            cells.remove(cell)
            counts[scale] -= 1
            lost += PlaceTile(words: words.unsafelyUnwrapped + start).length
        }
    }

    @inline(__always)
    private static func key(_ scale: Int, _ cell: UInt64) -> UInt64 { UInt64(scale) << 56 | cell }

    // MARK: Looking

    /// The cell that a device is in, good until the next call.
    @inline(__always)
    mutating func cell(at scale: Int, around view: View, _ memory: PlaceMemory, in world: some CircumstanceWorld) -> PlaceTile {
        let key = Self.key(scale, SurfaceGrid.cell(view.latitudeSteps, view.longitudeSteps, shift: Scale.shift(scale)))
        let start = find(key)?.pointee.start ?? make(key, at: scale, around: view, memory, in: world)
        return PlaceTile(words: UnsafePointer(words.unsafelyUnwrapped + start))
    }

    /// Asks for the cell that a device is in.
    private mutating func make(
        _ key: UInt64, at scale: Int, around view: View, _ memory: PlaceMemory, in world: some CircumstanceWorld
    ) -> Int {
        let box = SurfaceGrid.Box(view.latitudeSteps, view.longitudeSteps, shift: Scale.shift(scale))
        var places: [NearbyPlace] = []
        let farthest = Scale.reach(scale) + Self.foresight
        world.places(
            latitude: view.position.latitude, longitude: view.position.longitude, radius: farthest + box.diagonal, into: &places)
        var found: [Found] = []
        for place in places where place.place < UInt32(Int32.max) {
            var predicates: [UInt32] = []
            if shows(PredicateTable.any, at: scale) { predicates.append(PredicateTable.any) }
            memory.forEachPredicate(of: place.place, in: world) { if shows($0, at: scale) { predicates.append($0) } }
            guard !predicates.isEmpty else { continue }
            let extent = world.extent(of: place.place)
            guard box.distance(to: extent) <= farthest else { continue }
            let number = Int32(bitPattern: place.place)
            found.append(
                Found(
                    number: extent.radius > 0 ? ~number : number,
                    point: GridPoint(latitude: extent.latitude, longitude: extent.longitude), radius: extent.radius,
                    predicates: predicates))
        }
        return write(key, at: scale, found)
    }

    private func shows(_ predicate: UInt32, at scale: Int) -> Bool {
        Int(predicate) < scales.count && scales[Int(predicate)] & 1 << scale != 0
    }

    /// A place for a cell.
    private struct Found {
        /// Complemented: it has an outline.
        var number: Int32
        var point: GridPoint
        /// Metres to the farthest point of the outline.
        var radius: Double
        var predicates: [UInt32]
    }

    private mutating func write(_ key: UInt64, at scale: Int, _ found: [Found]) -> Int {
        let heads = PlaceTile.start + TilePlace.headLength * found.count
        makeRoom(for: found.reduce(heads) { $0 + TilePlace.factsLength + $1.predicates.count })
        let start = end
        let words = self.words.unsafelyUnwrapped + start
        var length = heads
        for (index, place) in found.enumerated() {
            let head = words + PlaceTile.start + TilePlace.headLength * index
            head[0] = place.point.x
            head[1] = place.point.y
            head[2] = place.point.z
            head[3] = GridPoint.steps(place.radius)
            head[4] = Int32(length)
            words[length] = place.number
            words[length + 1] = Int32(place.predicates.count)
            length += TilePlace.factsLength
            for predicate in place.predicates {
                words[length] = Int32(bitPattern: predicate)
                length += 1
            }
        }
        words[0] = Int32(length)
        words[1] = Int32(found.count)
        end += length
        cells.insert(CellSlot(key: key, start: start))
        counts[scale] += 1
        return start
    }

    private mutating func makeRoom(for more: Int) {
        guard end + more > capacity else { return }
        if end + more > Self.wordsMax { forgetAll() }
        let needed = end - lost + more
        let next = max(1 << 14, needed + needed / 2)
        let memory = BigMemory.allocate(bytes: next * 4).bindMemory(to: Int32.self, capacity: next)
        if let words {
            var kept = 0
            cells.forEach { cell in
                let length = PlaceTile(words: words + cell.pointee.start).length
                (memory + kept).update(from: words + cell.pointee.start, count: length)
                cell.pointee.start = kept
                kept += length
                return true
            }
            end = kept
            BigMemory.release(words)
        }
        lost = 0
        words = memory
        capacity = next
    }
}
