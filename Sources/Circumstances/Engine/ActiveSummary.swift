/// What a look at a device needs of an active circumstance: small, so that hundreds of thousands of them stay in the cache.
struct ActiveSummary: BitwiseCopyable {
    /// The exit margin, metres.
    var margin = 0.0
    /// The greatest radius of `near` among its preconditions, metres: 0 where none is a `near`.
    private var nearRadius = 0.0
    var circumstance: UInt32 = 0
    var basis = Basis.everything
    var isArriving = false
    /// One of its preconditions is an `at`.
    private(set) var isAt = false

    static let ended = ActiveSummary()

    /// How far its preconditions reach, in metres, where `at` reaches so far.
    @inline(__always)
    func radius(at reach: Double) -> Double { PlaceReach.reach(nearRadius: nearRadius, at: reach) }
}

extension ActiveSummary {
    init(_ active: ActiveCircumstance) {
        circumstance = active.circumstance
        isArriving = active.trigger == .arriving
        nearRadius = active.preconditions?.compactMap(\.nearRadius).max() ?? 0
        isAt = active.preconditions?.contains { $0.nearRadius == nil } ?? false
        guard active.basis != .everything else { return }
        basis = active.basis
        margin = active.exitMargin
    }
}
