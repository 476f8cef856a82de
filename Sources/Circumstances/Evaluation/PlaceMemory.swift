/// What is true of each place that was looked at, so that strings are compared and calendars consulted once.
final class PlaceMemory {
    var predicates = PredicateTable()
    /// Where a place's predicates begin in `runs`, by its number; 0 where they are not known.
    private var offsets: [UInt32] = []
    /// Count and numbers, run after run.
    private var runs: [UInt32] = [0]
    private var openings: [UInt32: (opening: Opening, since: Int64)] = [:]

    /// Predicates of what does not exist yet, on which a value has come to depend.
    private var awaited: Set<UInt32> = []

    private static let openingsMax = 1 << 20
    private static let runsMax = 1 << 28

    /// Calls `body` with each predicate that is true of the place, until it returns false.
    @inline(__always)
    func forEachPredicate(of place: UInt32, in world: some CircumstanceWorld, _ body: (UInt32) -> Void) {
        let start = run(of: place, in: world)
        let count = Int(runs[start])
        for index in start + 1..<start + 1 + count { body(runs[index]) }
    }

    @inline(__always)
    func holds(_ predicate: UInt32, of place: UInt32, in world: some CircumstanceWorld) -> Bool {
        let start = run(of: place, in: world)
        let end = start + 1 + Int(runs[start])
        var index = start + 1
        while index < end {
            if runs[index] == predicate { return true }
            index += 1
        }
        return false
    }

    @inline(__always)
    private func run(of place: UInt32, in world: some CircumstanceWorld) -> Int {
        if Int(place) < offsets.count, offsets[Int(place)] != 0 { return Int(offsets[Int(place)]) }
        return read(place, in: world)
    }

    private func read(_ place: UInt32, in world: some CircumstanceWorld) -> Int {
        if runs.count > Self.runsMax { forgetAll() }
        if Int(place) >= offsets.count {
            offsets.append(contentsOf: repeatElement(0, count: max(Int(place) + 1 - offsets.count, offsets.count / 2)))
        }
        let profile = predicates.profile(of: world.facts(of: place))
        let start = runs.count
        runs.append(UInt32(profile.count))
        runs.append(contentsOf: profile)
        offsets[Int(place)] = UInt32(start)
        return start
    }

    /// Whether the predicate may be true of any place at all.
    func isKnown(_ number: UInt32, in world: some CircumstanceWorld) -> Bool {
        predicates[number].map { world.isKnown($0.key, $0.value.text) } ?? true
    }

    /// A value is unknown until the predicate may be true of some place: then all devices are evaluated.
    func noteAwaited(_ number: UInt32) { awaited.insert(number) }

    /// Whether the place brings what was not known before, and something has come to depend on.
    func takeAwaited(of place: UInt32, in world: some CircumstanceWorld) -> Bool {
        guard !awaited.isEmpty else { return false }
        var found = false
        forEachPredicate(of: place, in: world) { if awaited.remove($0) != nil { found = true } }
        return found
    }

    func opening(of place: UInt32, at instant: Int64, in world: some CircumstanceWorld) -> Opening {
        if let known = openings[place], known.since <= instant, instant < known.opening.until { return known.opening }
        let opening = world.opening(of: place, at: instant)
        if openings.count >= Self.openingsMax { openings.removeAll(keepingCapacity: true) }
        openings[place] = (opening, instant)
        return opening
    }

    /// The place was changed or is another one.
    func forget(_ place: UInt32) {
        forgetProfile(place)
        openings[place] = nil
    }

    /// There is a new predicate that may be true of the place.
    func forgetProfile(_ place: UInt32) {
        if Int(place) < offsets.count { offsets[Int(place)] = 0 }
    }

    /// The predicates themselves have changed, or what categories are below which.
    func forgetAll() {
        for index in offsets.indices { offsets[index] = 0 }
        runs.removeAll(keepingCapacity: true)
        runs.append(0)
    }

    func forgetOpenings() { openings.removeAll() }
}
