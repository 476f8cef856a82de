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
            guard var entry = entries[key] else {
                entries[key] = Entry(first: namer, reach: naming.reach)
                show(naming.predicate, found, to: owner)
                continue
            }
            let wasEnough = !entry.others.isEmpty && entry.reach >= naming.reach
            entry.others.append(namer)
            entry.reach = max(entry.reach, naming.reach)
            entries[key] = entry
            guard !wasEnough else { continue }
            hide(naming.predicate, from: owner)
            show(naming.predicate, found, to: owner)
        }
    }

    mutating func remove(_ naming: Naming, by active: UInt32, of owner: UInt32) {
        for owner in [0, owner] {
            let key = Self.key(owner, naming.predicate)
            guard var entry = entries[key] else { continue }
            if entry.first.active != active {
                entry.others.removeAll { $0.active == active }
            } else if let next = entry.others.popLast() {
                // It stays the place of several.
                entry.first = next
            } else {
                hide(naming.predicate, from: owner)
                entries[key] = nil
                continue
            }
            entries[key] = entry
        }
    }

    /// A place is where it is named, where it is not yet.
    mutating func show(_ predicate: UInt32, _ found: Found?, to owner: UInt32) {
        let key = Self.key(owner, predicate)
        guard let found, let entry = entries[key], entry.shown == nil else { return }
        let place = NamedPlace(
            found.place, found.extent, reach: entry.reach,
            entry.others.isEmpty ? .one(entry.first) : .several(predicate: predicate))
        entries[key]?.shown = place
        while grids.count <= Int(owner) { grids.append(nil) }
        let grid = grids[Int(owner)] ?? NamedPlaceGrid()
        grids[Int(owner)] = grid
        grid.insert(place)
    }

    mutating func hide(_ predicate: UInt32, from owner: UInt32) {
        let key = Self.key(owner, predicate)
        guard let place = entries[key]?.shown else { return }
        entries[key]?.shown = nil
        grid(of: owner)?.remove(place)
    }

    mutating func hideAll() {
        grids.removeAll()
        for key in entries.keys { entries[key]?.shown = nil }
    }
}
