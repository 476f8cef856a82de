import Ranging

/// A drive through the flat as a daemon would follow it, and how well it did.
public struct FlatTrial: Sendable {
    /// Metres, one for each second in which a position was estimated.
    public private(set) var errors: [Double] = []
    /// How many of them lie within the accuracy that was told.
    public private(set) var withinAccuracy = 0
    /// Windows of 20 s that lie wholly within one room, and those in which the room was mostly the right one.
    public private(set) var windows = 0
    public private(set) var rightWindows = 0
    public private(set) var switches: [RoomTrack.Switch] = []
    /// Switches while the tag stood still, and for how many milliseconds it did.
    public private(set) var stillSwitches = 0
    public private(set) var stillMilliseconds: Int64 = 0

    private static let tag = BeaconKey(high: 1, low: 2, major: 3, minor: 4)
    private static let windowMilliseconds: Int64 = 20_000

    /// - Parameters:
    ///   - before: What was heard of the tag earlier; it does not count.
    ///   - locates: Positions are estimated too, which takes most of the time.
    public init(
        _ rows: [FlatRecording.Row], before: [FlatRecording.Row] = [], in flat: FlatRecording, settings: [RangingSettings],
        locates: Bool = true
    ) {
        let table = ProximityTable()
        var rooms = RoomTrack()
        var track = PositionTrack()
        var window: (number: Int64, rooms: Set<FlatRecording.Room>, right: Int, all: Int) = (-1, [], 0, 0)
        var still = (place: LocalPlane.Point(x: .infinity, y: 0), since: Int64(0))
        var last: Int64?
        let numbers = flat.rooms
        for (place, row) in (before + rows).enumerated() {
            let counts = place >= before.count
            for (number, level) in row.levels.enumerated() {
                guard let level else { continue }
                _ = table.take(
                    Sighting(beacon: Self.tag, rssi: level), by: UInt32(number), of: 0, settings[number], seenAt: row.at,
                    at: row.at,
                    maximum: 10)
            }
            _ = table.expire(at: row.at)
            let readings = flat.receivers.indices.compactMap { number in
                table.loss(at: UInt32(number), of: 0, over: PositionEstimator.window, at: row.at).map {
                    PositionEstimator.Reading(
                        place: flat.receivers[number], loss: $0, n: settings[number].n,
                        isCalibrated: settings[number] != .standard)
                }
            }
            var nearest: [FlatRecording.Room: RoomTrack.Candidate] = [:]
            for number in flat.receivers.indices {
                guard let loss = table.loss(at: UInt32(number), of: 0, over: RoomTrack.window, at: row.at) else {
                    continue
                }
                let metres = PathLoss.distance(loss: loss, n: settings[number].n)
                guard metres < nearest[numbers[number]]?.distance ?? .infinity else { continue }
                nearest[numbers[number]] = RoomTrack.Candidate(
                    room: numbers[number].rawValue, observer: UInt32(number), distance: metres)
            }
            if row.place.distance(to: still.place) > 0.15 { still = (row.place, row.at) }
            let isStill = row.at - still.since > 8_000
            if counts, isStill, let last { stillMilliseconds += min(1_400, row.at - last) }
            if let change = rooms.take(nearest.values.sorted { $0.room < $1.room }, at: row.at) {
                if counts, change.reason != .first {
                    switches.append(change)
                    if isStill { stillSwitches += 1 }
                }
            }
            if locates {
                track.take(readings, at: row.at)
                if counts, let told = track.estimate {
                    let error = told.place.distance(to: row.place)
                    errors.append(error)
                    if error <= told.accuracy { withinAccuracy += 1 }
                }
            }
            guard counts else { continue }
            let number = row.at / Self.windowMilliseconds
            if number != window.number {
                close(window)
                window = (number, [], 0, 0)
            }
            let truth = FlatRecording.room(at: row.place)
            window.rooms.insert(truth)
            window.all += 1
            if rooms.room == truth.rawValue { window.right += 1 }
            last = row.at
        }
        close(window)
        errors.sort()
    }

    private mutating func close(_ window: (number: Int64, rooms: Set<FlatRecording.Room>, right: Int, all: Int)) {
        guard window.rooms.count == 1 else { return }
        windows += 1
        if 2 * window.right > window.all { rightWindows += 1 }
    }

    /// Metres; `part` 0.5 is the median.
    public func error(_ part: Double) -> Double {
        errors.isEmpty ? .nan : errors[min(errors.count - 1, Int(Double(errors.count) * part))]
    }

    public var meanError: Double { errors.reduce(0, +) / Double(max(1, errors.count)) }
    public var rightRooms: Double { Double(rightWindows) / Double(max(1, windows)) }
    public var accuracyHolds: Double { Double(withinAccuracy) / Double(max(1, errors.count)) }
}
