/// Where the places are that circumstances name by their ids.
struct NamedPlaces {
    /// Active circumstances by the predicates of the ids they name.
    private var actives: [UInt32: [UInt32]] = [:]
    /// By owner; 0 is for devices that nobody owns, which all circumstances see. Nil where nothing is named.
    private var grids: [NamedPlaceGrid?] = []

    @inline(__always)
    func grid(of owner: UInt32) -> NamedPlaceGrid? { Int(owner) < grids.count ? grids[Int(owner)] : nil }

    mutating func insert(_ number: UInt32, _ active: ActiveCircumstance) {
        for naming in active.namings { actives[naming.predicate, default: []].append(number) }
    }

    /// Its places stay where they are until ``keep(where:)``.
    mutating func remove(_ number: UInt32, _ active: ActiveCircumstance) {
        for naming in active.namings {
            actives[naming.predicate]?.removeAll { $0 == number }
            if actives[naming.predicate]?.isEmpty == true { actives[naming.predicate] = nil }
        }
    }

    func actives(naming predicate: UInt32) -> [UInt32] { actives[predicate] ?? [] }

    mutating func show(_ place: NamedPlace, to owner: UInt32) {
        for owner in [0, owner] {
            while grids.count <= Int(owner) { grids.append(nil) }
            let grid = grids[Int(owner)] ?? NamedPlaceGrid()
            grids[Int(owner)] = grid
            grid.insert(place)
        }
    }

    func hide(_ place: NamedPlace, from owner: UInt32) {
        for owner in [0, owner] { grid(of: owner)?.remove(place) }
    }

    func keep(where isKept: (NamedPlace) -> Bool) {
        for grid in grids { grid?.keep(where: isKept) }
    }

    mutating func hideAll() { grids.removeAll() }
}
