import Matching
import Wire
import Records

extension SubscriptionRecord {
    /// How the engine is to match it.
    var options: MatchOptions {
        var options = MatchOptions(
            matchTTL: Self.milliseconds(effectiveMatchTTL), matchDTL: effectiveMatchDTL, excludesSelf: excludeSelf,
            exitMargin: exitMargin, dwell: Self.milliseconds(dwell), staleAfter: staleAfter.map(Self.milliseconds) ?? .max,
            sameFloor: floor == .same)
        switch mode {
        case .once: options.mode = .once
        case .visit: options.mode = .visit
        }
        switch accuracy {
        case .centre: options.accuracy = .centre
        case .possible: options.accuracy = .possible
        case .certain: options.accuracy = .certain
        case .likely: options.accuracy = .likely
        }
        return options
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
