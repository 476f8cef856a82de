/// What a look at a device needs of an active circumstance: small, so that hundreds of thousands of them stay in the cache.
struct ActiveSummary: BitwiseCopyable {
    /// The exit margin, metres.
    var margin = 0.0
    var circumstance: UInt32 = 0
    var basis = Basis.everything
    var isArriving = false

    static let ended = ActiveSummary()
}

extension ActiveSummary {
    init(_ active: ActiveCircumstance) {
        circumstance = active.circumstance
        isArriving = active.trigger == .arriving
        guard active.basis != .everything, active.preconditions?.isEmpty == false else { return }
        basis = active.basis
        margin = active.exitMargin
    }
}
