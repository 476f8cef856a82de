import Matching
import Wire
import Records

extension SubscriptionRecord {
    /// How the engine is to match it.
    var terms: Terms {
        var terms = Terms(
            matchTTL: Self.milliseconds(effectiveMatchTTL), matchDTL: effectiveMatchDTL, excludesSelf: excludeSelf,
            exitMargin: exitMargin, dwell: Self.milliseconds(dwell), staleAfter: staleAfter.map(Self.milliseconds) ?? .max,
            sameFloor: floor == .same)
        switch mode {
        case .once: terms.mode = .once
        case .visit: terms.mode = .visit
        }
        switch accuracy {
        case .centre: terms.accuracy = .centre
        case .possible: terms.accuracy = .possible
        case .certain: terms.accuracy = .certain
        }
        return terms
    }

    /// Of seconds without an upper limit.
    private static func milliseconds(_ seconds: Double) -> Int64 {
        let milliseconds = seconds * 1000
        return milliseconds < 4e18 ? Int64(milliseconds.rounded(.up)) : .max
    }

    /// Of its matches.
    var recipient: Recipient { Recipient(dataset, owner, .match, deviceId, id) }

    func readPushers(_ naming: Naming) throws(WireError) -> [Pusher] {
        try [Pusher](reading: pushers, of: recipient, naming: naming)
    }
}
