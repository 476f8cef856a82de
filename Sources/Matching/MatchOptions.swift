/// How a subscription wants to be matched, beside its circle, topic and selector.
public struct MatchOptions: Equatable, Sendable {
    /// What a pair of publication and subscription leads to.
    public enum Mode: Sendable {
        /// A match, and another only when ``MatchOptions/matchTTL`` or ``MatchOptions/matchDTL`` allows it.
        case once
        /// A begin on entering and an end on leaving.
        case visit
    }

    /// What the horizontal accuracies of both positions do to the distance between them. One that was never sent counts 0.
    public enum Accuracy: Sendable {
        /// They are ignored.
        case centre
        /// Both are subtracted: in range as soon as the two may be.
        case possible
        /// Both are added: in range only when the two surely are.
        case certain
        /// A visit begins well inside and ends by fixes of a minute outside; what is too coarse decides nothing (``LikelyRule``). The
        /// accuracy is the root of the sum of both squares. Of ``Mode/visit``.
        case likely
    }

    public var mode: Mode
    /// Milliseconds after which a pair may match again; 0: with every movement; `Int64.max`: never. Of ``Mode/once``.
    public var matchTTL: Int64
    /// Metres from where it was at the last match that let a pair match again. Of ``Mode/once``.
    public var matchDTL: Double
    /// Publications of the subscription's own device are left out.
    public var excludesSelf: Bool
    /// Metres beyond reach at which a visit ends. Of ``Mode/visit``.
    public var exitMargin: Double
    /// Milliseconds a pair has to stay in range before its visit begins. Of ``Mode/visit``.
    public var dwell: Int64
    /// Milliseconds after which a side that was not heard of ends its visits; `Int64.max`: never. Of ``Mode/visit``.
    public var staleAfter: Int64
    public var accuracy: Accuracy
    /// Both sides' floors must be known and equal.
    public var sameFloor: Bool

    public init(
        mode: Mode = .once, matchTTL: Int64, matchDTL: Double, excludesSelf: Bool = false, exitMargin: Double = 10,
        dwell: Int64 = 0, staleAfter: Int64 = .max, accuracy: Accuracy = .centre, sameFloor: Bool = false
    ) {
        self.mode = mode
        self.matchTTL = matchTTL
        self.matchDTL = matchDTL
        self.excludesSelf = excludesSelf
        self.exitMargin = exitMargin
        self.dwell = dwell
        self.staleAfter = staleAfter
        self.accuracy = accuracy
        self.sameFloor = sameFloor
    }
}
