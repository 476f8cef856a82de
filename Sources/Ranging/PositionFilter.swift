#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Where a carried beacon may be: probabilities on a grid around the observers that hear it, one step a second.
///
/// Each step lets the beacon walk, or now and then be carried somewhere else at once, and weighs every place by what was heard. Levels
/// stray by decibels and have heavy tails; bodies and doors take something off a signal and add nothing, so a level that is higher than
/// foreseen speaks louder against a place than one that is lower. How strong the beacon is beyond what it says is weighed with each place,
/// and learned. Distances that an observer knows better count as they are given, with their own noise.
///
/// Outlines say two things more: a beacon is hardly outside of its building, and the signal of an observer that was not calibrated loses
/// something with each room that it leaves.
public struct PositionFilter: Sendable {
    /// Who hears the beacon, and from where.
    public struct Observer: Equatable, Sendable {
        public var place: LocalPlane.Point
        /// Its exponent of the path loss.
        public var n: Double
        /// Its exponent and offset were measured: what is heard is right on the average.
        public var isCalibrated: Bool
        /// The caller's number of its room.
        public var room: Int?
        /// What a walk measured beyond that.
        public var map: RadioMap?

        public init(place: LocalPlane.Point, n: Double, isCalibrated: Bool = false, room: Int? = nil, map: RadioMap? = nil) {
            self.place = place
            self.n = n
            self.isCalibrated = isCalibrated
            self.room = room
            self.map = map
        }
    }

    /// What an observer heard.
    public enum Evidence: Equatable, Sendable {
        /// dB below the beacon's power at 1 m.
        case loss(Double)
        /// Metres, and one standard deviation of them.
        case metres(Double, deviation: Double)
        /// Degrees clockwise from north, and one standard deviation of them.
        case bearing(Double, deviation: Double)
    }

    /// What outlines say of a place.
    public enum Ground: Equatable, Sendable {
        /// The caller's number of the room that holds it.
        case room(Int)
        /// In no room that is known.
        case between
        /// Outside of the building.
        case outside
    }

    /// What is known after a step.
    public struct Estimate: Equatable, Sendable {
        public var place: LocalPlane.Point
        /// Metres: two of three times the beacon is within.
        public var accuracy: Double

        public init(place: LocalPlane.Point, accuracy: Double) {
            self.place = place
            self.accuracy = accuracy
        }
    }

    /// The nearest so many observers are used: the others say next to nothing.
    public static let observersMax = 12
    /// Milliseconds for which what was heard last still counts, less and less, while nothing else is heard.
    public static let fadeMilliseconds: Int64 = 3_000

    /// Bytes that one filter holds.
    public static let bytes = MemoryLayout<PositionFilter>.size + cells * (MemoryLayout<Float>.stride + 1) + 64

    /// Metres around an observer in which angles are believed to find beacons.
    static let bearingReach = 12.0

    /// Steps to where distances and angles agree, at most.
    private static let refinements = 200
    /// Places around an estimate whose rooms are counted.
    private static let samples = 64

    static let side = 16
    static let cells = side * side

    /// Metres that somebody strays within a second, to each side.
    private static let walk = 0.8
    /// How probable it is that a beacon turns up anywhere within a second.
    private static let jump = 0.04
    /// The part of the density within the accuracy: some more than two thirds, as noise is not all that the model leaves out.
    private static let held: Float = 0.7
    /// How much less probable it becomes with each step that it is outside of the building.
    private static let outdoors: Float = 0.2
    /// So many deviations of a round normal distribution hold 68 % of it.
    private static let deviations = 1.515
    /// Steps towards where the density has its peak.
    private static let shifts = 5
    /// Seconds of the two means by which it is on the move, and how far these are apart, in accuracies, while it lies still and while it
    /// moves. What lies still strays together with its accuracy.
    private static let means = (short: 4.0, long: 20.0)
    private static let apart = (still: 0.4, moving: 0.5)
    /// Milliseconds without a step after which nothing is known any more.
    private static let forgetful: Int64 = 30_000

    private var grid: FilterGrid?
    private var density: [Float] = []
    private var strength = BeaconStrength()
    private var steppedAt: Int64 = .min
    /// Whether distances were given of late, which are right to less than a metre.
    private var isFine = false
    /// Whether all that was heard last came with maps.
    private var isMapped = false
    /// What outlines say of each cell, as its place in `grounds`; empty without outlines.
    private var cellGrounds: [UInt8] = []
    private var grounds: [Ground] = []
    private var outlinesAsOf: UInt32?
    /// Means of where it was, over a short and over a longer time.
    private var trail: (short: LocalPlane.Point, long: LocalPlane.Point)?
    /// The mean of the density, which does not jump from one peak to another.
    private var centre: Estimate?
    /// Where it was when it was last known, before a restart.
    private var restored: Estimate?
    public private(set) var estimate: Estimate?
    /// How probable each room of the observers is: that of the observer next to the beacon.
    public private(set) var rooms: [(room: Int, probability: Double)] = []
    /// 0: it is on the move, 1: it lies still.
    public private(set) var stillness = 1.0

    public init() {}

    /// It was here when it was last heard of.
    public mutating func restore(_ place: LocalPlane.Point, accuracy: Double, at instant: Int64) {
        self = PositionFilter()
        restored = Estimate(place: place, accuracy: accuracy)
        estimate = restored
        steppedAt = instant
    }

    /// Takes what was heard since the last step.
    ///
    /// - Parameters:
    ///   - heard: By the places of their observers in `observers`.
    ///   - observers: Those that hear the beacon, nearest first.
    ///   - weight: 0…1: how much of it still counts.
    ///   - outlines: What outlines say of a place, asked for each cell once the grid or the outlines are new.
    public mutating func step(
        _ heard: [(observer: Int, evidence: Evidence)], among observers: [Observer], weight: Double = 1, at now: Int64,
        outlines: (asOf: UInt32, ground: (LocalPlane.Point) -> Ground)? = nil
    ) {
        let used = Array(observers.prefix(Self.observersMax))
        guard !used.isEmpty, used.allSatisfy({ $0.place.x.isFinite && $0.place.y.isFinite }) else { return }
        let evidence = heard.filter { $0.observer < used.count && $0.evidence.isUsable }.map { (used[$0.observer], $0.evidence) }
        let points = used.map(\.place) + evidence.flatMap { $1.reach(from: $0.place) }
        let isNew = place(FilterGrid(around: points, isOutlined: outlines != nil), at: now)
        if isNew || outlines?.asOf != outlinesAsOf {
            outlinesAsOf = outlines?.asOf
            findGrounds(outlines?.ground)
        }
        guard let grid else { return }
        let (elapsed, overflow) = now.subtractingReportingOverflow(steppedAt)
        if !overflow, elapsed > 0 { spread(over: Double(elapsed) / 1000, on: grid) }
        steppedAt = now
        if !evidence.isEmpty, weight > 0 { weigh(evidence, weight: weight, on: grid, seconds: Double(max(0, elapsed)) / 1000) }
        summarise(used, on: grid)
        if weight > 0 { refine(by: evidence, on: grid, used) }
        follow(over: overflow ? .infinity : Double(elapsed) / 1000)
    }

    // MARK: Where

    /// Lays the grid around the observers, and carries over what is known.
    ///
    /// - Returns: Whether it lies elsewhere than before.
    private mutating func place(_ wanted: FilterGrid, at now: Int64) -> Bool {
        let (elapsed, overflow) = now.subtractingReportingOverflow(steppedAt)
        let isForgotten = overflow || elapsed < 0 || elapsed > Self.forgetful
        if let grid, !isForgotten, grid.suits(wanted) { return false }
        var next = [Float](repeating: 1 / Float(Self.cells), count: Self.cells)
        if !isForgotten, let former = grid {
            for cell in 0..<Self.cells { next[cell] = density[safe: former.cell(at: wanted.centre(of: cell))] ?? 0 }
        } else if !isForgotten, let restored {
            let variance = Float(max(1, restored.accuracy * restored.accuracy))
            for cell in 0..<Self.cells {
                let off = Float(wanted.centre(of: cell).distance(to: restored.place))
                next[cell] = exp(-off * off / variance)
            }
        }
        restored = nil
        grid = wanted
        density = next
        normalise()
        return true
    }

    private mutating func findGrounds(_ ground: ((LocalPlane.Point) -> Ground)?) {
        cellGrounds.removeAll(keepingCapacity: true)
        grounds.removeAll()
        guard let ground, let grid else { return }
        for cell in 0..<Self.cells {
            let found = ground(grid.centre(of: cell))
            let known = grounds.firstIndex(of: found)
            if known == nil, grounds.count < 256 { grounds.append(found) }
            cellGrounds.append(UInt8(known ?? grounds.count - 1))
        }
        if grounds.allSatisfy({ $0 == .between }) { cellGrounds.removeAll() }
    }

    /// How many rooms a straight line from a place leaves on its way to each cell; nil without outlines.
    private func walls(from place: LocalPlane.Point, on grid: FilterGrid) -> [UInt8]? {
        guard !cellGrounds.isEmpty, let start = grid.cell(at: place) else { return nil }
        let (column, row) = (start / Self.side, start % Self.side)
        let isRoom = grounds.map { if case .room = $0 { true } else { false } }
        // Every cell of every observer comes here with each step.
        return cellGrounds.withUnsafeBufferPointer { cellGrounds in
            isRoom.withUnsafeBufferPointer { isRoom in
                (0..<Self.cells).map { cell in
                    let (columns, rows) = (cell / Self.side - column, cell % Self.side - row)
                    let steps = max(abs(columns), abs(rows))
                    let (east, north) = (Float(columns) / Float(steps), Float(rows) / Float(steps))
                    var (x, y) = (Float(column) + 0.5, Float(row) + 0.5)
                    var (count, ground) = (UInt8(0), cellGrounds[start])
                    for _ in 0..<steps {
                        x += east
                        y += north
                        let next = cellGrounds[Int(x) &* Self.side &+ Int(y)]
                        guard next != ground, isRoom[Int(next)] else { continue }
                        count &+= 1
                        ground = next
                    }
                    return count
                }
            }
        }
    }

    /// Lets the beacon walk for so many seconds, or turn up anywhere.
    private mutating func spread(over seconds: Double, on grid: FilterGrid) {
        let variance = Self.walk * Self.walk * min(seconds, 10)
        for (step, metres) in [(Self.side, grid.width), (1, grid.height)] {
            // Each pass moves at most a quarter to each side.
            let share = variance / (2 * metres * metres)
            let passes = min(16, max(1, Int((share / 0.25).rounded(.up))))
            for _ in 0..<passes { blur(step, share: Float(min(0.25, share / Double(passes)))) }
        }
        let jump = Float(1 - pow(1 - Self.jump, seconds))
        let floor = jump / Float(Self.cells)
        for cell in 0..<Self.cells { density[cell] = (1 - jump) * density[cell] + floor }
        guard !cellGrounds.isEmpty else { return }
        for cell in 0..<Self.cells where grounds[Int(cellGrounds[cell])] == .outside { density[cell] *= Self.outdoors }
        normalise()
    }

    /// One pass along the columns (step `side`) or the rows (step 1); what would leave stays.
    private mutating func blur(_ step: Int, share: Float) {
        density.withUnsafeMutableBufferPointer { cells in
            let line = step == 1 ? Self.side : 1
            for number in 0..<Self.side {
                var at = number * line
                var before = cells[at]
                for place in 0..<Self.side {
                    let here = cells[at]
                    let after = place + 1 < Self.side ? cells[at + step] : here
                    cells[at] = here + share * (before + after - 2 * here)
                    before = here
                    at += step
                }
            }
        }
    }

    private mutating func normalise() {
        let sum = density.reduce(0, +)
        guard sum > 0, sum.isFinite else {
            density = [Float](repeating: 1 / Float(Self.cells), count: Self.cells)
            return
        }
        for cell in 0..<Self.cells { density[cell] /= sum }
    }

    // MARK: What was heard

    private mutating func weigh(
        _ evidence: [(Observer, Evidence)], weight: Double, on grid: FilterGrid, seconds: Double
    ) {
        let levels = LevelEvidence(evidence, strength, on: grid) { walls(from: $0, on: grid) }
        isFine = levels.count < evidence.count
        isMapped = levels.isMapped
        withUnsafeTemporaryAllocation(of: (cost: Float, strength: Float).self, capacity: Self.cells) { costs in
            var least = Float.infinity
            for cell in 0..<Self.cells {
                let place = grid.centre(of: cell)
                var cost = levels.cost(at: place, in: cell)
                // Positions within a cell are not distinguished.
                let within = (grid.width * grid.width + grid.height * grid.height) / 24
                for (observer, evidence) in evidence {
                    if let off = evidence.stray(at: place, from: observer.place, within: within) {
                        cost.cost += StrayCost.metres(off)
                    }
                }
                costs[cell] = (Float(cost.cost * weight), Float(cost.strength))
                least = min(least, costs[cell].cost)
            }
            var sum: Float = 0
            for cell in 0..<Self.cells {
                density[cell] *= exp(least - costs[cell].cost)
                sum += density[cell]
            }
            guard sum > 0, sum.isFinite else { return normalise() }
            var strength: Float = 0
            for cell in 0..<Self.cells {
                density[cell] /= sum
                strength += density[cell] * costs[cell].strength
            }
            if levels.learns, weight == 1 { self.strength.take(Double(strength), seconds: min(5, max(0.2, seconds))) }
        }
    }

    // MARK: What is known

    private mutating func summarise(_ observers: [Observer], on grid: FilterGrid) {
        var mean = LocalPlane.Point(x: 0, y: 0)
        var masses: [Int: Double] = [:]
        for cell in 0..<Self.cells {
            let place = grid.centre(of: cell)
            let mass = Double(density[cell])
            mean.x += mass * place.x
            mean.y += mass * place.y
            if let room = outlined(cell) ?? Self.nearestRoom(to: place, observers) { masses[room, default: 0] += mass }
        }
        rooms = masses.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        let accuracy = radius(around: mean, on: grid)
        centre = Estimate(place: mean, accuracy: accuracy)
        estimate = centre
        guard isMapped else { return }
        let place = densest(near: mean, reach: accuracy / Self.deviations, on: grid)
        estimate = Estimate(place: place, accuracy: radius(around: place, on: grid))
    }

    /// Where the density has its peak, seen through a normal distribution: of two places that suit a beacon is at one, not between them.
    ///
    /// Without maps the levels that are foreseen are too rough for that. Mean shift: Comaniciu and Meer, IEEE Trans. PAMI 24 (2002).
    private func densest(near mean: LocalPlane.Point, reach: Double, on grid: FilterGrid) -> LocalPlane.Point {
        let (columns, rows) = (
            (0..<Self.side).map { grid.centre(of: $0 * Self.side).x }, (0..<Self.side).map { grid.centre(of: $0).y }
        )
        func weight(_ off: Double) -> Double { exp(-off * off / (2 * reach * reach)) }
        var place = mean
        for _ in 0..<Self.shifts {
            let weights = rows.map { weight($0 - place.y) }
            var (x, y, sum) = (0.0, 0.0, 0.0)
            for (number, column) in columns.enumerated() {
                var (north, mass) = (0.0, 0.0)
                for row in 0..<Self.side {
                    let part = Double(density[number * Self.side + row]) * weights[row]
                    north += part * rows[row]
                    mass += part
                }
                let part = weight(column - place.x)
                x += part * mass * column
                y += part * north
                sum += part * mass
            }
            guard sum > 0 else { return place }
            place = LocalPlane.Point(x: x / sum, y: y / sum)
        }
        return place
    }

    private func outlined(_ cell: Int) -> Int? {
        guard !cellGrounds.isEmpty, case .room(let room) = grounds[Int(cellGrounds[cell])] else { return nil }
        return room
    }

    private static func nearestRoom(to place: LocalPlane.Point, _ observers: [Observer]) -> Int? {
        var nearest = (room: Int?.none, distance: Double.infinity)
        for observer in observers where observer.room != nil {
            let distance = place.distance(to: observer.place)
            if distance < nearest.distance { nearest = (observer.room, distance) }
        }
        return nearest.room
    }

    /// Whether it is on the move, by where it was over the last seconds and before.
    private mutating func follow(over seconds: Double) {
        guard let centre else { return }
        guard var trail, seconds * 1000 <= Double(Self.forgetful) else {
            trail = (centre.place, centre.place)
            stillness = 1
            return
        }
        func move(_ mean: inout LocalPlane.Point, _ inertia: Double) {
            let part = 1 - exp(-max(0, seconds) / inertia)
            mean.x += part * (centre.place.x - mean.x)
            mean.y += part * (centre.place.y - mean.y)
        }
        move(&trail.short, Self.means.short)
        move(&trail.long, Self.means.long)
        self.trail = trail
        let apart = trail.short.distance(to: trail.long) / max(0.01, centre.accuracy)
        stillness = min(1, max(0, (Self.apart.moving - apart) / (Self.apart.moving - Self.apart.still)))
    }

    /// Distances and angles say more than a cell: the estimate goes to where they agree best near by, with the accuracy they have there.
    private mutating func refine(by evidence: [(Observer, Evidence)], on grid: FilterGrid, _ observers: [Observer]) {
        let fine = evidence.filter { $0.1.isFine }
        guard !fine.isEmpty, let rough = estimate else { return }
        let pull = max(1e-4, rough.accuracy * rough.accuracy)
        func cost(_ place: LocalPlane.Point) -> Double {
            let off = place.distance(to: rough.place)
            return fine.reduce(off * off / pull / 2) {
                $0 + StrayCost.metres($1.1.stray(at: place, from: $1.0.place, within: 0) ?? 0)
            }
        }
        var best = (place: rough.place, cost: cost(rough.place))
        var step = max(grid.width, grid.height)
        for _ in 0..<Self.refinements where step > 0.01 {
            let around = [(step, 0), (-step, 0), (0, step), (0, -step)].map {
                LocalPlane.Point(x: best.place.x + $0.0, y: best.place.y + $0.1)
            }
            guard let next = around.map({ (place: $0, cost: cost($0)) }).min(by: { $0.cost < $1.cost }), next.cost < best.cost
            else {
                step /= 2
                continue
            }
            best = next
        }
        let accuracy = min(rough.accuracy, accuracy(of: fine, at: best.place, pull: pull))
        centre = Estimate(place: best.place, accuracy: accuracy)
        estimate = centre
        // What cells are too coarse for, and count as often as it is given.
        var masses: [Int: Double] = [:]
        for number in 0..<Self.samples {
            let part = (Double(number) + 0.5) / Double(Self.samples)
            let (metres, angle) = (accuracy / Self.deviations * (-2 * log(1 - part)).squareRoot(), Double(number) * 2.399_963)
            let place = LocalPlane.Point(x: best.place.x + metres * cos(angle), y: best.place.y + metres * sin(angle))
            let room = grid.cell(at: place).flatMap { outlined($0) } ?? Self.nearestRoom(to: place, observers)
            if let room { masses[room, default: 0] += 1 / Double(Self.samples) }
        }
        rooms = masses.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Metres within which two of three lie, by how sharply the evidence changes around a place.
    private func accuracy(of evidence: [(Observer, Evidence)], at place: LocalPlane.Point, pull: Double) -> Double {
        var (xx, xy, yy) = (1 / pull, 0.0, 1 / pull)
        for (observer, evidence) in evidence {
            let distance = max(0.1, place.distance(to: observer.place))
            let (x, y) = ((place.x - observer.place.x) / distance, (place.y - observer.place.y) / distance)
            switch evidence {
            case .loss: continue
            case .metres(_, let deviation):
                let weight = 1 / (deviation * deviation)
                (xx, xy, yy) = (xx + weight * x * x, xy + weight * x * y, yy + weight * y * y)
            case .bearing(_, let deviation):
                let across = deviation * .pi / 180 * distance
                let weight = 1 / (across * across)
                (xx, xy, yy) = (xx + weight * y * y, xy - weight * x * y, yy + weight * x * x)
            }
        }
        let determinant = max(1e-12, xx * yy - xy * xy)
        return Self.deviations * ((xx + yy) / determinant / 2).squareRoot()
    }

    /// Metres within which ``held`` of the density lies.
    private func radius(around mean: LocalPlane.Point, on grid: FilterGrid) -> Double {
        let bins = 96
        let most = Double(Self.side) * (grid.width + grid.height)
        return withUnsafeTemporaryAllocation(of: Float.self, capacity: bins) { rings in
            rings.initialize(repeating: 0)
            for cell in 0..<Self.cells {
                rings[min(bins - 1, Int(grid.centre(of: cell).distance(to: mean) / most * Double(bins)))] += density[cell]
            }
            var sum: Float = 0
            for ring in 0..<bins {
                let next = sum + rings[ring]
                if next >= Self.held {
                    let part = Double((Self.held - sum) / max(rings[ring], 1e-9))
                    return max((Double(ring) + part) / Double(bins) * most, isFine ? min(grid.width, grid.height) / 2 : 1)
                }
                sum = next
            }
            return most
        }
    }
}

extension PositionFilter.Evidence {
    fileprivate var isUsable: Bool {
        switch self {
        case .loss(let loss): loss.isFinite && abs(loss) < 300
        case .metres(let metres, let deviation):
            (0...10_000).contains(metres) && deviation.isFinite && deviation > 0
        case .bearing(let degrees, let deviation):
            degrees.isFinite && abs(degrees) <= 1_000 && deviation.isFinite && deviation > 0
        }
    }

    public var isAngle: Bool {
        if case .bearing = self { true } else { false }
    }

    /// It was given by an observer that knows better than levels do.
    var isFine: Bool {
        switch self {
        case .loss: false
        case .metres(let metres, let deviation): deviation < 0.4 * max(1, metres)
        case .bearing: true
        }
    }

    /// Corners of where it may have the beacon: a grid has to hold them.
    fileprivate func reach(from place: LocalPlane.Point) -> [LocalPlane.Point] {
        let metres: Double
        switch self {
        case .loss: return []
        case .metres(let given, let deviation): metres = isFine ? min(given + 2 * deviation, 500) : 0
        case .bearing: metres = PositionFilter.bearingReach
        }
        return [LocalPlane.Point(x: place.x - metres, y: place.y - metres), .init(x: place.x + metres, y: place.y + metres)]
    }

    /// The square of how many standard deviations a place is off; nil for a level.
    ///
    /// - Parameter within: The variance of the place itself, square metres.
    fileprivate func stray(at place: LocalPlane.Point, from observer: LocalPlane.Point, within: Double) -> Double? {
        let distance = place.distance(to: observer)
        switch self {
        case .loss: return nil
        case .metres(let metres, let deviation):
            return (distance - metres) * (distance - metres) / (deviation * deviation + within)
        case .bearing(let degrees, let deviation):
            let there = atan2(place.x - observer.x, place.y - observer.y) * 180 / .pi
            let off = (there - degrees).remainder(dividingBy: 360)
            let spread = within / max(0.01, distance * distance) * (180 / .pi) * (180 / .pi)
            return off * off / (deviation * deviation + spread)
        }
    }
}

extension Array {
    fileprivate subscript(safe index: Int?) -> Element? { index.map { self[$0] } }
}
