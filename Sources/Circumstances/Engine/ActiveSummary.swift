/// What a look at a device needs of an active circumstance: small, so that hundreds of thousands of them stay in the cache.
struct ActiveSummary: BitwiseCopyable {
    /// The exit margin, metres.
    var margin = 0.0
    var circumstance: UInt32 = 0
    var basis = Basis.everything
    /// It rests on the reach of one place, named by its id.
    var isSingle = false
    var isArriving = false

    static let ended = ActiveSummary()
}

extension ActiveSummary {
    init(_ active: ActiveCircumstance, in table: PredicateTable) {
        circumstance = active.circumstance
        isArriving = active.trigger == .arriving
        guard active.basis != .everything, let place = active.preconditions?.first?.predicates else { return }
        basis = active.basis
        margin = active.exitMargin
        isSingle = basis == .reach && place.count == 1 && table[place[0]]?.key == .place
    }
}
