import Ranging

/// A drive through the flat as a daemon would follow it, and how well it did.
public struct FlatTrial: Sendable {
    /// Metres, one for each row.
    public private(set) var errors: [Double] = []
    /// How many of them lie within the accuracy that was reported.
    public private(set) var withinAccuracy = 0
    /// Windows of 20 s that lie wholly within one room, and those in which the room was mostly the right one.
    public private(set) var windows = 0
    public private(set) var rightWindows = 0
    public private(set) var switches: [RoomTrack.Switch] = []
    /// Switches while the tag stood still, and for how many milliseconds it did.
    public private(set) var stillSwitches = 0
    public private(set) var stillMilliseconds: Int64 = 0
    /// Seconds from each change of the room until it was noticed.
    public private(set) var delays: [Double] = []

    private static let tag = BeaconKey(high: 1, low: 2, major: 3, minor: 4)
    private static let windowMilliseconds: Int64 = 20_000

    /// - Parameters:
    ///   - before: What was heard of the tag earlier; it does not count.
    ///   - outlined: The outlines of the rooms are known.
    public init(
        _ rows: [FlatRecording.Row], before: [FlatRecording.Row] = [], in flat: FlatRecording, settings: [RangingSettings],
        outlined: Bool = false
    ) {
        let table = ProximityTable()
        var rooms = RoomTrack()
        var filter = PositionFilter()
        let observers = flat.receivers.indices.map { number in
            PositionFilter.Observer(
                place: flat.receivers[number], n: settings[number].n, isCalibrated: settings[number] != .standard,
                room: flat.rooms[number].rawValue, map: settings[number].map)
        }
        var heard = [(sum: Double, count: Double)](repeating: (0, 0), count: observers.count)
        var steppedAt: Int64 = .min
        var window: (number: Int64, rooms: Set<FlatRecording.Room>, right: Int, all: Int) = (-1, [], 0, 0)
        var still = (place: LocalPlane.Point(x: .infinity, y: 0), since: Int64(0))
        var last: Int64?
        var changed: (at: Int64, room: FlatRecording.Room)?
        for (place, row) in (before + rows).enumerated() {
            let counts = place >= before.count
            for (number, level) in row.levels.enumerated() {
                guard let level else { continue }
                let sighting = Sighting(beacon: Self.tag, rssi: level)
                _ = table.take(sighting, by: UInt32(number), of: 0, settings[number], seenAt: row.at, at: row.at, maximum: 10)
                guard case .loss(let loss)? = sighting.evidence(settings[number]) else { continue }
                heard[number] = (heard[number].sum + loss, heard[number].count + 1)
            }
            _ = table.expire(at: row.at)
            if row.place.distance(to: still.place) > 0.15 { still = (row.place, row.at) }
            let isStill = row.at - still.since > 8_000
            if counts, isStill, let last { stillMilliseconds += min(1_400, row.at - last) }
            if steppedAt == .min || row.at - steppedAt >= 1000 {
                steppedAt = row.at
                let evidence = heard.indices.filter { heard[$0].count > 0 }.map {
                    (observer: $0, evidence: PositionFilter.Evidence.loss(heard[$0].sum / heard[$0].count))
                }
                heard = heard.map { _ in (0, 0) }
                filter.step(
                    evidence, among: observers, at: row.at,
                    outlines: outlined ? (0, { flat.ground(at: $0) }) : nil)
                let candidates = candidates(table, filter, in: flat, settings, at: row.at)
                if let change = rooms.take(candidates, stillness: filter.stillness, at: row.at), counts, change.reason != .first {
                    switches.append(change)
                    if isStill { stillSwitches += 1 }
                }
            }
            guard counts else { continue }
            if let reported = filter.estimate {
                let error = reported.place.distance(to: row.place)
                errors.append(error)
                if error <= reported.accuracy { withinAccuracy += 1 }
            }
            let number = row.at / Self.windowMilliseconds
            if number != window.number {
                close(window)
                window = (number, [], 0, 0)
            }
            let truth = FlatRecording.room(at: row.place)
            if let known = changed, known.room != truth { changed = (row.at, truth) }
            if changed == nil { changed = (.min, truth) }
            if let since = changed, since.at != .min, rooms.room == truth.rawValue {
                delays.append(Double(row.at - since.at) / 1000)
                changed = (.min, truth)
            }
            window.rooms.insert(truth)
            window.all += 1
            if rooms.room == truth.rawValue { window.right += 1 }
            last = row.at
        }
        delays.sort()
        close(window)
        errors.sort()
    }

    private func candidates(
        _ table: ProximityTable, _ filter: PositionFilter, in flat: FlatRecording, _ settings: [RangingSettings], at now: Int64
    ) -> [RoomTrack.Candidate] {
        var nearest: [Int: RoomTrack.Candidate] = [:]
        for (number, room) in flat.rooms.enumerated() {
            guard let loss = table.loss(at: UInt32(number), of: 0, over: RoomTrack.window, at: now) else { continue }
            let metres = PathLoss.distance(loss: loss, n: settings[number].n)
            guard metres < nearest[room.rawValue]?.distance ?? .infinity else { continue }
            nearest[room.rawValue] = RoomTrack.Candidate(
                room: room.rawValue, observer: UInt32(number), distance: metres,
                probability: filter.rooms.first { $0.room == room.rawValue }?.probability ?? 0)
        }
        return nearest.values.sorted { $0.room < $1.room }
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

    /// Seconds; `part` 0.5 is the median.
    public func delay(_ part: Double) -> Double {
        delays.isEmpty ? .nan : delays[min(delays.count - 1, Int(Double(delays.count) * part))]
    }

    public var meanError: Double { errors.reduce(0, +) / Double(max(1, errors.count)) }
    public var rightRooms: Double { Double(rightWindows) / Double(max(1, windows)) }
    public var accuracyHolds: Double { Double(withinAccuracy) / Double(max(1, errors.count)) }
}
