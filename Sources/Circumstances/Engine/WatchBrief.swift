/// What a look at a device needs of a watch: small, so that hundreds of thousands of them stay in the cache.
struct WatchBrief: BitwiseCopyable {
    /// Metres; negative for `at`, whose reach depends on the accuracy of a fix.
    var radius = -1.0
    /// The exit margin, metres.
    var margin = 0.0
    var circumstance: UInt32 = 0
    var basis = Basis.everything
    /// It rests on the reach of one place, named by its id.
    var isSingle = false
    var isArriving = false
    /// It is about all devices of its owner and nobody's.
    var isForAll = false

    static let ended = WatchBrief()

    /// Metres within which a place must be for it to become true.
    ///
    /// - Parameter reach: That of `at`.
    @inline(__always)
    func radius(_ reach: Double) -> Double { radius < 0 ? reach : radius }
}

extension WatchBrief {
    init(_ watch: Watch, in table: PredicateTable) {
        circumstance = watch.circumstance
        isArriving = watch.trigger == .arriving
        isForAll = watch.devices.isEmpty
        guard watch.basis != .everything, let entry = watch.guards?.first else { return }
        basis = watch.basis
        radius = entry.radius ?? -1
        margin = watch.exitMargin
        isSingle = basis == .reach && entry.predicates.count == 1 && table[entry.predicates[0]]?.key == .place
    }
}
