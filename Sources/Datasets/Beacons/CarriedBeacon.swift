import Ranging

/// A beacon that a device carries about, followed from gateway to gateway.
final class CarriedBeacon {
    var room = RoomTrack()
    var filter = PositionFilter()
    /// Where one or two gateways have it.
    var track = PositionTrack()
    /// Around where ``filter`` and ``track`` count metres.
    var plane: LocalPlane?
    /// Why it is in its room, and since when.
    var reason = ""
    var since: Int64 = 0
    var locatedAt: Int64 = .min
    /// It is in the list of those that were seen.
    var isNoted = false
    /// What was heard since it was located last, one for each observer.
    private var heard: [Heard] = []
    /// What was heard before, and when that counted for the first time.
    private var former: (heard: [Heard], at: Int64) = ([], .min)

    /// What one observer heard.
    struct Heard {
        /// Its number.
        var observer: UInt32
        var evidence: PositionFilter.Evidence
        fileprivate var count = 1.0
    }

    /// Takes what an observer heard; several levels since the last time become one, of what is given the last counts.
    func take(_ evidence: PositionFilter.Evidence, by observer: UInt32) {
        guard let place = heard.firstIndex(where: { $0.observer == observer && $0.evidence.isLike(evidence) }) else {
            return heard.append(Heard(observer: observer, evidence: evidence))
        }
        if case .loss(let loss) = evidence, case .loss(let mean) = heard[place].evidence {
            heard[place].count += 1
            heard[place].evidence = .loss(mean + (loss - mean) / heard[place].count)
        } else {
            heard[place].evidence = evidence
        }
    }

    /// What there is to be weighed now, and how much of it counts: what is new, else for a while what was heard last.
    func takeHeard(at now: Int64) -> (heard: [Heard], weight: Double, isNew: Bool) {
        guard heard.isEmpty else {
            former = (heard, now)
            heard.removeAll(keepingCapacity: true)
            return (former.heard, 1, true)
        }
        let age: Int64 = former.at == .min ? .max : now - former.at
        let left = 1 - Double(age) / Double(PositionFilter.fadeMilliseconds)
        return (former.heard, max(0, min(1, left)), false)
    }

    /// Whether time alone may still say something new.
    func isSettling(at now: Int64) -> Bool {
        former.at != .min && now - former.at < PositionFilter.fadeMilliseconds + 2 * RoomTrack.hold / 3
    }
}

extension PositionFilter.Evidence {
    fileprivate func isLike(_ other: Self) -> Bool {
        switch (self, other) {
        case (.loss, .loss), (.metres, .metres), (.bearing, .bearing): true
        default: false
        }
    }
}
