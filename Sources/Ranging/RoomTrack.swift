/// In which room a beacon is: that of its nearest observer, smoothed.
///
/// Another room takes over when its nearest observer has been nearer than that of the present room by three tenths for three seconds, by
/// half for a third of that, or when nobody in the present room hears the beacon any more. Levels are averaged over ``window``: a lead that
/// long averages show needs no long wait, and a tag that lies still between two rooms is not carried to and fro.
public struct RoomTrack: Equatable, Sendable {
    /// The nearest observer of one room.
    public struct Candidate: Equatable, Sendable {
        /// The caller's numbers.
        public var room: Int
        public var observer: UInt32
        /// Metres.
        public var distance: Double

        public init(room: Int, observer: UInt32, distance: Double) {
            self.room = room
            self.observer = observer
            self.distance = distance
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

    public private(set) var room: Int?
    /// It was given back after a restart, and until this instant, as far as it is known, its observers may just not have spoken yet.
    private var isRestored = false
    private var heardBy: Int64?
    private var rival: Int?
    private var rivalSince: Int64 = 0

    public init() {}

    /// - Parameter candidates: One for each room that hears the beacon, in any order.
    public mutating func take(_ candidates: [Candidate], at now: Int64) -> Switch? {
        guard let best = candidates.min(by: { ($0.distance, $0.observer) < ($1.distance, $1.observer) }) else { return nil }
        guard let room else { return enter(best, .first) }
        guard let present = candidates.first(where: { $0.room == room }) else {
            return awaitsObservers(at: now) ? nil : enter(best, .unheard)
        }
        isRestored = false
        guard best.room != room, best.distance * Self.lead <= present.distance else {
            rival = nil
            return nil
        }
        if rival != best.room {
            rival = best.room
            rivalSince = now
        }
        let held = now - rivalSince
        let wanted = best.distance * Self.clearLead <= present.distance ? Self.hold / 3 : Self.hold
        guard held >= wanted || held < 0 else { return nil }
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

    /// It was in this room when it was last heard of: nothing is to be told, and the room is not given up because the first to hear it
    /// again is another's observer.
    public mutating func restore(_ room: Int) {
        self.room = room
        isRestored = true
    }
}
