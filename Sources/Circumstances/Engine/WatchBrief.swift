/// What a look at a device needs of a watch: small, so that hundreds of thousands of them stay in the cache.
struct WatchBrief: BitwiseCopyable {
    /// Metres; negative for `at`, whose reach depends on the accuracy of a fix.
    var radius = -1.0
    /// The exit margin of what is plain (``Program/isPlain``), metres; negative for what is not, and for what has ended.
    var margin = -1.0
    var circumstance: UInt32 = 0
    /// It is plain, and about one place by its id.
    var isSingle = false
    var isArriving = false
    /// It is about all devices of its owner and nobody's.
    var isForAll = false

    static let ended = WatchBrief()

    var isPlain: Bool { margin >= 0 }

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
        guard watch.isPlain, let entry = watch.guards?.first else { return }
        radius = entry.radius ?? -1
        margin = watch.exitMargin
        isSingle = entry.predicates.count == 1 && table[entry.predicates[0]]?.key == .place
    }
}
