import EngineMemory
import Geodesy

/// The places that rules ask for, cell by cell: each cell has all that a device in it can have to do with, and what is true of each.
///
/// A look at a device so reads one run of memory for each ``Scale`` its rules have, instead of asking for all places around. Cells are
/// cubes, made when a device is looked at in them, and given up when a place in their reach changes or a rule asks for more.
struct PlaceTiles: ~Copyable {
    /// What asks for the places that a predicate is true of.
    private struct Asking {
        /// The scales whose cells show them, a bit for each.
        var scales: UInt8 = 0
        /// The only owner that ever asked for them; ``several`` where there were more.
        var owner: UInt32 = 0
    }

    /// By predicate.
    private var asking: [Asking] = []
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
    static let foresight = 140.0
    static let several = UInt32.max

    init() {}

    deinit {
        cells.deallocate()
        if let words { BigMemory.release(words) }
    }

    // MARK: What is shown

    /// A rule of an owner asks for places. Returns at which scales cells must show more now, a bit for each.
    mutating func show(_ query: PlaceQuery, to owner: UInt32) -> UInt8 {
        let index = Int(query.predicate)
        while asking.count <= index { asking.append(Asking()) }
        let former = asking[index]
        asking[index].scales |= 1 << query.scale
        guard former.scales != 0 else {
            asking[index].owner = owner
            return asking[index].scales
        }
        guard former.owner != owner, former.owner != Self.several else { return asking[index].scales & ~former.scales }
        asking[index].owner = Self.several
        return asking[index].scales
    }

    /// Nothing that was known of places and predicates holds any more.
    mutating func forgetPredicates() {
        asking.removeAll()
        forgetAll()
    }

    /// What is true of places has changed.
    mutating func forgetAll() {
        cells.removeAll()
        for scale in 0..<Scale.count { counts[scale] = 0 }
        end = 0
        lost = 0
    }

    /// The cells of a scale must show other places.
    mutating func forget(scale: Int) { if counts[scale] > 0 { forgetAll() } }

    /// Gives up the cells that can show a place.
    mutating func forget(_ extent: PlaceExtent) {
        for scale in 0..<Scale.count where counts[scale] > 0 { forget(extent, at: scale) }
    }

    mutating func forget(_ extent: PlaceExtent, at scale: Int) {
        guard counts[scale] > 0 else { return }
        let reach = extent.radius + Scale.reach(scale) + Self.foresight + 1
        let centre = ECEF(latitude: extent.latitude, longitude: extent.longitude)
        let edge = Double(1 << Scale.shift(scale)) / GridPoint.unitsPerMetre
        guard reach < 8 * edge else { return forgetAll() }
        func span(_ value: Double) -> ClosedRange<Int32> {
            func index(_ metres: Double) -> Int32 { Int32((metres / edge).rounded(.down)) }
            return index(value - reach)...index(value + reach)
        }
        for x in span(centre.x) {
            for y in span(centre.y) {
                for z in span(centre.z) {
                    guard let cell = find(Self.key(scale, x, y, z)) else { continue }
                    let start = cell.pointee.start
                    cells.remove(cell)
                    counts[scale] -= 1
                    lost += PlaceTile(words: words.unsafelyUnwrapped + start).length
                }
            }
        }
    }

    private static func key(_ scale: Int, _ x: Int32, _ y: Int32, _ z: Int32) -> UInt64 {
        func bits(_ value: Int32) -> UInt64 { UInt64(UInt32(bitPattern: value) & 0xF_FFFF) }
        return UInt64(scale) << 60 | bits(x) << 40 | bits(y) << 20 | bits(z)
    }

    // MARK: Looking

    /// The cell that a device is in, good until the next call.
    @inline(__always)
    mutating func cell(
        at scale: Int, around point: GridPoint, _ position: (latitude: Double, longitude: Double), _ memory: PlaceMemory,
        in world: some CircumstanceWorld
    ) -> PlaceTile {
        let shift = Scale.shift(scale)
        let key = Self.key(scale, point.x >> shift, point.y >> shift, point.z >> shift)
        let start = find(key)?.pointee.start ?? make(key, at: scale, around: point, position, memory, in: world)
        return PlaceTile(words: UnsafePointer(words.unsafelyUnwrapped + start))
    }

    /// Asks for the cell that a device at the point is in.
    private mutating func make(
        _ key: UInt64, at scale: Int, around point: GridPoint, _ position: (latitude: Double, longitude: Double),
        _ memory: PlaceMemory, in world: some CircumstanceWorld
    ) -> Int {
        let cube = Cube(point, shift: Scale.shift(scale))
        var places: [NearbyPlace] = []
        let farthest = Scale.reach(scale) + Self.foresight
        world.places(
            latitude: position.latitude, longitude: position.longitude, radius: farthest + cube.diagonal, into: &places)
        var found: [Found] = []
        for place in places where place.place < UInt32(Int32.max) {
            var predicates: [UInt32] = []
            if shows(PredicateTable.any, at: scale) { predicates.append(PredicateTable.any) }
            memory.forEachPredicate(of: place.place, in: world) { if shows($0, at: scale) { predicates.append($0) } }
            guard let first = predicates.first else { continue }
            let owner = asking[Int(first)].owner
            let isAlone = predicates.allSatisfy { asking[Int($0)].owner == owner }
            let extent = world.extent(of: place.place)
            let centre = GridPoint(latitude: extent.latitude, longitude: extent.longitude)
            let away = cube.distance(to: centre) - extent.radius
            guard away <= farthest + 1 else { continue }
            let number = Int32(bitPattern: place.place)
            found.append(
                Found(
                    number: extent.radius > 0 ? ~number : number, point: centre, radius: extent.radius,
                    owner: isAlone ? owner : Self.several, predicates: predicates))
        }
        return write(key, at: scale, &found)
    }

    private func shows(_ predicate: UInt32, at scale: Int) -> Bool {
        Int(predicate) < asking.count && asking[Int(predicate)].scales & 1 << scale != 0
    }

    /// A place for a cell.
    private struct Found {
        /// Complemented: it has an outline.
        var number: Int32
        var point: GridPoint
        /// Metres to the farthest point of the outline.
        var radius: Double
        var owner: UInt32
        var predicates: [UInt32]
    }

    private mutating func write(_ key: UInt64, at scale: Int, _ found: inout [Found]) -> Int {
        found.sort { PlaceTile.part(of: $0.owner) < PlaceTile.part(of: $1.owner) }
        makeRoom(for: found.reduce(PlaceTile.head) { $0 + TilePlace.head + $1.predicates.count })
        let start = end
        let words = self.words.unsafelyUnwrapped
        end += PlaceTile.head
        var part = 0
        for place in found {
            while part < PlaceTile.part(of: place.owner) {
                words[start + part] = Int32(end - start)
                part += 1
            }
            words[end] = place.point.x
            words[end + 1] = place.point.y
            words[end + 2] = place.point.z
            words[end + 3] = place.number
            words[end + 4] = Int32(bitPattern: place.owner)
            words[end + 5] = TilePlace.steps(place.radius)
            words[end + 6] = Int32(place.predicates.count)
            end += TilePlace.head
            for predicate in place.predicates {
                words[end] = Int32(bitPattern: predicate)
                end += 1
            }
        }
        for part in part..<PlaceTile.parts { words[start + part] = Int32(end - start) }
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

/// A cube of the grid.
private struct Cube {
    private let low: SIMD3<Int32>
    private let edge: Int32

    init(_ point: GridPoint, shift: Int32) {
        let mask = ~((1 as Int32) << shift - 1)
        low = SIMD3(point.x & mask, point.y & mask, point.z & mask)
        edge = 1 << shift
    }

    /// Metres between the corners that are farthest apart.
    var diagonal: Double { Double(edge) / GridPoint.unitsPerMetre * 1.7321 }

    /// Metres from the nearest point of it.
    func distance(to point: GridPoint) -> Double {
        func away(_ value: Int32, _ low: Int32) -> Double {
            let value = Double(value)
            return max(0, Double(low) - value, value - Double(low) - Double(edge))
        }
        let x = away(point.x, low.x)
        let y = away(point.y, low.y)
        let z = away(point.z, low.z)
        return (x * x + y * y + z * z).squareRoot() / GridPoint.unitsPerMetre
    }
}
