/// What is known of one beacon at one observer: 72 bytes, and 96 of readings.
struct ProximityFact: BitwiseCopyable {
    var observer: UInt32
    var beacon: UInt32
    /// Milliseconds since 1970 UTC: the latest sighting.
    var seenAt: Int64
    /// Metres; negative: nothing was measured yet.
    var distance: Double = -1
    /// dBm as received last; NaN: never.
    var rssi: Float = .nan
    /// Milliseconds by which the latest one with a reading was before that; `max`: there was none.
    private var readBefore = UInt32.max
    var kalman = KalmanEstimate()
    var history = SignalHistory()
    var band = ProximityBand.unknown
    /// In the lists of its observer, its beacon and the second in which it is over.
    var ofObserver = Links()
    var ofBeacon = Links()
    var ofSecond = Links()
    /// Milliseconds since 1970 UTC: the latest sighting with a reading; nil: there was none.
    var readAt: Int64? { readBefore == .max ? nil : seenAt - Int64(readBefore) }

    struct Links: BitwiseCopyable {
        var next = none
        var previous = none
    }

    init(observer: UInt32, beacon: UInt32, seenAt: Int64) {
        self.observer = observer
        self.beacon = beacon
        self.seenAt = seenAt
    }

    /// - Parameter reads: With a reading.
    mutating func see(at instant: Int64, reads: Bool) {
        let before = readAt.map { instant - $0 }
        readBefore = reads ? 0 : before.flatMap(UInt32.init(exactly:)) ?? .max
        seenAt = instant
    }
}

/// The end of a list, or no such thing.
let none = UInt32.max
