/// Readings of one beacon by one observer in order of time, and what they come to: what `geomatch eval ranging` shows.
///
/// The same rules as in ``ProximityTable``, over any number of readings.
public struct Ranger {
    private var losses: [(loss: Double, at: Int64)] = []
    private var kalman = KalmanEstimate()
    private var lastAt: Int64?
    private let settings: RangingSettings
    /// nil: nothing was measured yet.
    public private(set) var distance: Double?
    public private(set) var band = ProximityBand.unknown

    public init(_ settings: RangingSettings = .standard) { self.settings = settings }

    /// - Parameter instant: Milliseconds since 1970 UTC; never earlier than before.
    public mutating func take(_ sighting: Sighting, at instant: Int64) {
        switch sighting.measure {
        case .nothing: return
        case .metres(let metres): see(metres)
        case .band(let given, let metres):
            distance = metres
            band = given
        case .loss(let loss): see(PathLoss.distance(loss: smooth(loss - settings.rssiOffset, at: instant), n: settings.n))
        }
    }

    private mutating func see(_ metres: Double) {
        distance = metres
        band = band.next(at: metres)
    }

    private mutating func smooth(_ loss: Double, at instant: Int64) -> Double {
        defer { lastAt = instant }
        switch settings.filter {
        case .none: return loss
        case .kalman:
            kalman.take(loss, after: lastAt.map { instant.subtractingReportingOverflow($0).partialValue } ?? 0)
            return Double(kalman.level)
        case .trimmedMean:
            losses.append((loss, instant))
            if let first = losses.firstIndex(where: {
                instant.subtractingReportingOverflow($0.at).partialValue <= SignalHistory.window
            }) {
                losses.removeFirst(first)
            }
            return TrimmedMean.of(losses.map(\.loss)) ?? loss
        }
    }
}
