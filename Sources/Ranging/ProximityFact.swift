/// What is known of one beacon at one observer: 104 bytes, and 128 of readings.
struct ProximityFact: BitwiseCopyable {
    var observer: UInt32
    var beacon: UInt32
    /// Milliseconds since 1970 UTC: the latest sighting.
    var seenAt: Int64
    /// The latest one with a reading.
    var readAt: Int64 = .min
    /// Metres; negative: nothing was measured yet.
    var distance: Double = -1
    /// dBm as received last; NaN: never.
    var rssi: Float = .nan
    var kalman = KalmanEstimate()
    var history = SignalHistory()
    var band = ProximityBand.unknown
    /// In the lists of its observer, its beacon and the second in which it is over.
    var ofObserver = Links()
    var ofBeacon = Links()
    var ofSecond = Links()
    /// Which list of seconds that is.
    var second: UInt16 = 0

    struct Links: BitwiseCopyable {
        var next = none
        var previous = none
    }

    init(observer: UInt32, beacon: UInt32, seenAt: Int64) {
        self.observer = observer
        self.beacon = beacon
        self.seenAt = seenAt
    }
}

/// The end of a list, or no such thing.
let none = UInt32.max
