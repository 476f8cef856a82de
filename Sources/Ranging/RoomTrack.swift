/// In which room a beacon is: that of its nearest observer, and not to and fro.
///
/// Where the positions of the observers are known, a ``PositionFilter`` says how probable each room is: another one takes over when its lead
/// in probability, summed over the seconds, comes to ``leadSeconds`` while the beacon lies still, and at once while it is on the move. Else its nearest observer must have been nearer than that of
/// the present room by three tenths for three seconds, or by half for a third of that. Either way it does when nobody in the present room
/// hears the beacon any more. Distances are averaged over ``window``: a tag that lies still between two rooms is not carried to and fro.
public struct RoomTrack: Equatable, Sendable {
    /// The nearest observer of one room.
    public struct Candidate: Equatable, Sendable {
        /// The caller's numbers.
        public var room: Int
        public var observer: UInt32
        /// Metres.
        public var distance: Double
        /// 0…1; nil: not known, as observers have no position.
        public var probability: Double?

        public init(room: Int, observer: UInt32, distance: Double, probability: Double? = nil) {
            self.room = room
            self.observer = observer
            self.distance = distance
            self.probability = probability
        }

        /// What each second ahead of another room is worth: the lead in probability, else the part of a switch; 0 where it is not ahead.
        fileprivate func lead(over other: Candidate) -> Double {
            if let probability {
                let lead = probability - (other.probability ?? 0)
                return lead < RoomTrack.leadMin ? 0 : lead
            }
            if distance * RoomTrack.clearLead <= other.distance { return 3000 / Double(RoomTrack.hold) }
            return distance * RoomTrack.lead <= other.distance ? 1000 / Double(RoomTrack.hold) : 0
        }

        fileprivate static func isLess(_ left: Candidate, _ right: Candidate) -> Bool {
            (-(left.probability ?? 0), left.distance, left.observer) < (-(right.probability ?? 0), right.distance, right.observer)
        }
    }

    /// Why a beacon is in another room from now on.
    public enum Reason: Equatable, Sendable {
        /// It was in no room.
        case first
        /// The room's nearest observer was nearer than the former room's for so many milliseconds; metres of both.
        case nearer(than: UInt32, its: Double, for: Int64)
        /// Nobody in the former room hears it.
        case unheard
    }

    /// That the beacon is in another room from now on, and why.
    public struct Switch: Equatable, Sendable {
        public var from: Int?
        public var to: Candidate
        public var reason: Reason
    }

    /// Milliseconds over which levels are averaged for a room.
    public static let window: Int64 = 6_000
    /// Three tenths nearer.
    public static let lead = 1.3
    /// Milliseconds.
    public static let hold: Int64 = 3_000
    /// So much nearer is worth a third of the time.
    public static let clearLead = 1.5
    /// Seconds of being certainly elsewhere after which another room takes over, for a beacon that lies still.
    public static let leadSeconds = 6.0
    /// A smaller lead in probability is none.
    public static let leadMin = 0.2
    /// Milliseconds without a step that count at most.
    private static let stepMax: Int64 = 1_500

    public private(set) var room: Int?
    /// It was given back after a restart, and until this instant, as far as it is known, its observers may just not have spoken yet.
    private var isRestored = false
    private var heardBy: Int64?
    private var rival: Rival?

    /// The room that is ahead of the present one.
    private struct Rival: Equatable {
        var room: Int
        var since: Int64
        var at: Int64
        var lead: Double
    }

    public init() {}

    /// - Parameters:
    ///   - candidates: One for each room that hears the beacon, in any order.
    ///   - stillness: 0: the beacon is on the move, 1: it lies still.
    public mutating func take(_ candidates: [Candidate], stillness: Double = 1, at now: Int64) -> Switch? {
        guard let best = candidates.min(by: Candidate.isLess) else { return nil }
        guard let room else { return enter(best, .first) }
        guard let present = candidates.first(where: { $0.room == room }) else {
            return awaitsObservers(at: now) ? nil : enter(best, .unheard)
        }
        isRestored = false
        let lead = best.room == room ? 0 : best.lead(over: present)
        guard lead > 0 else {
            rival = nil
            return nil
        }
        if rival?.room != best.room {
            rival = Rival(room: best.room, since: now, at: now, lead: best.probability == nil ? 0 : lead)
        }
        guard var rival else { return nil }
        rival.lead += lead * Double(min(Self.stepMax, max(0, now - rival.at))) / 1000
        rival.at = now
        self.rival = rival
        let held = now - rival.since
        // Shortly after a restart not all have spoken, and what they say is not yet clear.
        let isSettling = heardBy.map { now < $0 + Self.hold } ?? false
        let needed = best.probability == nil ? 1 : stillness * Self.leadSeconds
        guard rival.lead >= needed - 1e-9, !isSettling || held >= Self.hold else { return nil }
        return enter(best, .nearer(than: present.observer, its: present.distance, for: max(0, held)))
    }

    private mutating func awaitsObservers(at now: Int64) -> Bool {
        guard isRestored else { return false }
        let until = heardBy ?? now + Self.hold
        heardBy = until
        return now < until
    }

    private mutating func enter(_ candidate: Candidate, _ reason: Reason) -> Switch {
        defer {
            room = candidate.room
            rival = nil
            isRestored = false
        }
        return Switch(from: room, to: candidate, reason: reason)
    }

    /// It was in this room when it was last heard of: nothing is reported, and the room is not given up because the first to hear it
    /// again is another's observer.
    public mutating func restore(_ room: Int) {
        self.room = room
        isRestored = true
    }
}
