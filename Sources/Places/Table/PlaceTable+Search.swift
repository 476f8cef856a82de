import CPrefetch
import Geodesy

extension PlaceTable {
    /// Calls `body` with each place within a distance (metres, up to ``radiusMax``) of a position, until it returns false.
    ///
    /// A query of places at random waits for memory most of its time, so whatever it will need is asked for early: first the
    /// points of its cells, then the outlines around; then the points are looked at, and the outlines at last.
    @inline(__always)
    func search(latitude: Double, longitude: Double, radius: Double, _ body: (Hit) -> Bool) {
        cells.prefetch(latitude: latitude, longitude: longitude)
        let query = Query(latitude: latitude, longitude: longitude, reach: Geodesic.chord(ofArc: radius))
        withUnsafeTemporaryAllocation(of: PlaceCells.Cell.self, capacity: 128) { room in
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Self.passedMax + Self.waitingMax) { numbers in
                let span = query.span(0)
                let found = UnsafeMutableBufferPointer(rebasing: room[..<64])
                let passed = UnsafeMutableBufferPointer(rebasing: numbers[..<Self.passedMax])
                let count = cells.gather(0, in: span, into: found)
                var waiting = Waiting(UnsafeMutableBufferPointer(rebasing: numbers[Self.passedMax...]))
                for level in cells.levels.ofOutlines {
                    let room = UnsafeMutableBufferPointer(rebasing: room[64...])
                    guard collect(level, query, room, passed, &waiting, body) else { return }
                }
                guard search(cells: count.map { found[..<$0] }, span, query, passed, body), complete(&waiting, query, body) else {
                    return
                }
                for handle in vast {
                    guard let hit = footprint(of: handle).flatMap({ hit(handle, $0, query) }) else { continue }
                    guard body(hit) else { return }
                }
            }
        }
    }

    /// How many entries are looked at together, and how many outlines wait.
    private static var passedMax: Int { 128 }
    private static var waitingMax: Int { 64 }

    /// - Parameter found: The cells; nil: they are too many to be kept.
    @inline(__always)
    private func search(
        cells found: Slice<UnsafeMutableBufferPointer<PlaceCells.Cell>>?, _ span: CellSpan, _ query: Query,
        _ passed: UnsafeMutableBufferPointer<UInt32>, _ body: (Hit) -> Bool
    ) -> Bool {
        let sieve = Sieve(query, reach: query.reach)
        func look(_ entry: PlaceCells.Entry) -> Bool {
            let chord = entry.point.squaredChord(to: query.point)
            guard chord <= query.squared else { return true }
            return body(Hit(handle: entry.number, distance: Self.arc(chord.squareRoot()), isInside: false))
        }
        if let found { return cells.sift(found, sieve, passed, look) }
        var goesOn = true
        cells.forEachCell(0, in: span) { cell in
            goesOn = cells.sift(CollectionOfOne(cell), sieve, passed, look)
            return goesOn
        }
        return goesOn
    }

    /// As ``Geodesic/arc(ofChord:)``, without its division.
    @inline(__always)
    private static func arc(_ chord: Double) -> Double {
        chord + chord * chord * chord * (1 / (24 * Ellipsoid.meanRadius * Ellipsoid.meanRadius))
    }

    // MARK: Outlines

    /// Outlines whose memory was asked for.
    struct Waiting {
        fileprivate let numbers: UnsafeMutableBufferPointer<UInt32>
        fileprivate var count = 0

        fileprivate init(_ numbers: UnsafeMutableBufferPointer<UInt32>) { self.numbers = numbers }
    }

    /// Lets those of a level wait that may be near enough, and answers for them where they are too many to wait.
    ///
    /// - Parameter room: For the cells.
    @inline(__always)
    private func collect(
        _ level: Int, _ query: Query, _ room: UnsafeMutableBufferPointer<PlaceCells.Cell>,
        _ passed: UnsafeMutableBufferPointer<UInt32>, _ waiting: inout Waiting, _ body: (Hit) -> Bool
    ) -> Bool {
        let levelReach = CellShape.reach(level)
        let sieve = Sieve(query, reach: query.reach + levelReach + 0.03)
        func look(_ entry: PlaceCells.Entry) -> Bool {
            let farthest = query.reach + entry.share * levelReach + 0.03
            guard entry.point.squaredChord(to: query.point) <= farthest * farthest else { return true }
            if waiting.count == waiting.numbers.count {
                guard complete(&waiting, query, body) else { return false }
            }
            waiting.numbers[waiting.count] = entry.number
            waiting.count += 1
            let address = outlines.address(of: entry.number)
            for line in 0..<5 { geomatch_prefetch(address + 8 * line) }
            return true
        }
        let span = query.span(level)
        if let count = cells.gather(level, in: span, into: room) { return cells.sift(room[..<count], sieve, passed, look) }
        var goesOn = true
        cells.forEachCell(level, in: span) { cell in
            goesOn = cells.sift(CollectionOfOne(cell), sieve, passed, look)
            return goesOn
        }
        return goesOn
    }

    private func complete(_ waiting: inout Waiting, _ query: Query, _ body: (Hit) -> Bool) -> Bool {
        for place in 0..<waiting.count {
            let footprint = Footprint(outlines.address(of: waiting.numbers[place]))
            guard let hit = hit(footprint.handle, footprint, query) else { continue }
            guard body(hit) else { return false }
        }
        waiting.count = 0
        return true
    }

    /// A place with an outline; nil: it is too far away.
    func hit(_ handle: Handle, _ footprint: Footprint, _ query: Query) -> Hit? {
        if footprint.contains(latitude: query.latitude, longitude: query.longitude) {
            return Hit(handle: handle, distance: 0, isInside: true)
        }
        // A hair more than the reach, so that what is exactly there is found.
        let limit = query.squared * (1 + 1e-12) + 1e-12
        let squared = footprint.squaredDistanceToEdge(
            from: query.point, latitude: query.latitude, longitude: query.longitude, limit: limit)
        guard squared < limit else { return nil }
        return Hit(handle: handle, distance: Self.arc(squared.squareRoot()), isInside: false)
    }
}

/// A position and how far around it is looked.
struct Query {
    /// Degrees.
    let latitude, longitude: Double
    let point: ECEF
    /// Metres, straight, and its square.
    let reach, squared: Double
    /// Of the parallel, in 1/m.
    private let curvature: Double

    init(latitude: Double, longitude: Double, reach: Double) {
        self.latitude = latitude
        self.longitude = longitude
        self.reach = reach
        point = ECEF(latitude: latitude, longitude: longitude)
        squared = reach * reach
        curvature = CellSpan.curvature(at: point)
    }

    /// What cells of a level may hold something; points are rounded to millimetres.
    @inline(__always)
    func span(_ level: Int) -> CellSpan {
        let reach = level == 0 ? reach + 0.01 : reach + CellShape.reach(level) + 0.03
        return CellSpan(latitude: latitude, longitude: longitude, curvature: curvature, reach: reach)
    }
}
