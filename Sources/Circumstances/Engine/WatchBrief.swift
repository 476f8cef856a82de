/// What a look at a device needs of a watch: small, so that hundreds of thousands of them stay in the cache.
struct WatchBrief: BitwiseCopyable {
    /// The exit margin, metres.
    var margin = 0.0
    var circumstance: UInt32 = 0
    var basis = Basis.everything
    var isArriving = false

    static let ended = WatchBrief()
}

extension WatchBrief {
    init(_ watch: Watch) {
        circumstance = watch.circumstance
        isArriving = watch.trigger == .arriving
        guard watch.basis != .everything, watch.guards?.isEmpty == false else { return }
        basis = watch.basis
        margin = watch.exitMargin
    }
}
