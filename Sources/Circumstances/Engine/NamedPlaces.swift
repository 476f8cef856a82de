/// Where the places are that circumstances name by their ids: each once for an owner, however many name it.
struct NamedPlaces {
    /// The circumstances of one owner, or of all, that name an id, and the place as they find it.
    private struct Entry {
        /// Most are named by one.
        var first: Namer
        var others: [Namer] = []
        /// Metres, of the one that reaches farthest.
        var reach: Double
        /// As it is in the grid; nil where there is no such place.
        var shown: NamedPlace?

        /// - Returns: Whether what is shown is still right.
        mutating func add(_ namer: Namer, _ reach: Double) -> Bool {
            let wasEnough = !others.isEmpty && self.reach >= reach
            others.append(namer)
            self.reach = max(self.reach, reach)
            return wasEnough
        }

        /// - Returns: Whether any is left. The place stays that of several.
        mutating func remove(_ active: UInt32) -> Bool {
            if first.active != active {
                others.removeAll { $0.active == active }
            } else if let next = others.popLast() {
                first = next
            } else {
                return false
            }
            return true
        }

        func place(_ found: Found, _ predicate: UInt32) -> NamedPlace {
            NamedPlace(
                found.place, found.extent, reach: reach, others.isEmpty ? .one(first) : .several(predicate: predicate))
        }
    }

    /// By owner and predicate of the id. Owner 0 is for devices that nobody owns, which all circumstances see.
    private var entries: [UInt64: Entry] = [:]
    /// By owner. Nil where nothing is named.
    private var grids: [NamedPlaceGrid?] = []

    /// A place of the world that has an id.
    struct Found {
        var place: UInt32
        var extent: PlaceExtent
    }

    @inline(__always)
    func grid(of owner: UInt32) -> NamedPlaceGrid? { Int(owner) < grids.count ? grids[Int(owner)] : nil }

    private static func key(_ owner: UInt32, _ predicate: UInt32) -> UInt64 { UInt64(owner) << 32 | UInt64(predicate) }

    /// Ids whose places changed while very many name them, and how many of these were not looked at since: what is shown to their owners may
    /// be what was before.
    private(set) var outdated: [UInt32: Int] = [:]

    /// The least of them.
    var firstOutdated: UInt32? {
        var first: UInt32?
        for predicate in outdated.keys where predicate < first ?? .max { first = predicate }
        return first
    }

    mutating func noteOutdated(_ predicate: UInt32) { outdated[predicate] = namerCount(of: predicate) }

    /// How many name an id, of all owners.
    func namerCount(of predicate: UInt32) -> Int { entries[Self.key(0, predicate)].map { $0.others.count + 1 } ?? 0 }

    /// The next one to be looked at that names an outdated id, from the last to the first: the number of none rises. Nil behind the first,
    /// and all are right.
    mutating func popOutdated(_ predicate: UInt32) -> Namer? {
        guard let entry = entries[Self.key(0, predicate)], let rest = outdated[predicate], rest > 0 else {
            outdated[predicate] = nil
            return nil
        }
        let index = min(rest, entry.others.count + 1) - 1
        outdated[predicate] = index
        return index == 0 ? entry.first : entry.others[index - 1]
    }

    /// Those of an owner that name an id.
    func namers(of predicate: UInt32, _ owner: UInt32) -> [Namer] {
        entries[Self.key(owner, predicate)].map { [$0.first] + $0.others } ?? []
    }

    /// A circumstance of an owner names an id.
    ///
    /// - Parameter found: Nil: there is none, or it is shown later.
    mutating func insert(_ naming: Naming, by active: UInt32, of owner: UInt32, _ found: Found?) {
        let namer = Namer(active, isPrecondition: naming.isPrecondition)
        for owner in [0, owner] {
            let key = Self.key(owner, naming.predicate)
            // In place: thousands may name one.
            guard let wasEnough = entries[key]?.add(namer, naming.reach) else {
                entries[key] = Entry(first: namer, reach: naming.reach)
                show(naming.predicate, found, to: owner)
                continue
            }
            guard !wasEnough else { continue }
            hide(naming.predicate, from: owner)
            show(naming.predicate, found, to: owner)
        }
    }

    mutating func remove(_ naming: Naming, by active: UInt32, of owner: UInt32) {
        for owner in [0, owner] {
            let key = Self.key(owner, naming.predicate)
            guard entries[key]?.remove(active) == false else { continue }
            hide(naming.predicate, from: owner)
            entries[key] = nil
        }
    }

    /// A place is where it is named, where it is not yet.
    mutating func show(_ predicate: UInt32, _ found: Found?, to owner: UInt32) {
        let key = Self.key(owner, predicate)
        guard let found, let entry = entries[key], entry.shown == nil else { return }
        let place = entry.place(found, predicate)
        entries[key]?.shown = place
        while grids.count <= Int(owner) { grids.append(nil) }
        let grid = grids[Int(owner)] ?? NamedPlaceGrid()
        grids[Int(owner)] = grid
        grid.insert(place)
    }

    /// A place is shown as it is by now, if it is not already.
    mutating func refresh(_ predicate: UInt32, _ found: Found?, to owner: UInt32) {
        guard let entry = entries[Self.key(owner, predicate)] else { return }
        if let shown = entry.shown, let found, shown == entry.place(found, predicate) { return }
        hide(predicate, from: owner)
        show(predicate, found, to: owner)
    }

    mutating func hide(_ predicate: UInt32, from owner: UInt32) {
        let key = Self.key(owner, predicate)
        guard let place = entries[key]?.shown else { return }
        entries[key]?.shown = nil
        guard let grid = grid(of: owner) else { return }
        grid.remove(place)
        // One that was crowded shows less far ahead.
        if grid.size.places == 0 { grids[Int(owner)] = nil }
    }

    mutating func hideAll() {
        outdated.removeAll()
        grids.removeAll()
        for key in entries.keys { entries[key]?.shown = nil }
    }
}
