import Geodesy
import Matching
import Selectors
import Records

/// All that is known of a publication and a subscription at one instant, whether they live or have ended.
struct ExplainedPair {
    /// One side's time.
    enum Life {
        /// Until the first instant at which it no longer lives; `Int64.max`: without end.
        case alive(until: Int64)
        case expired(at: Int64)
        case deleted(at: Int64)
        /// Its duration was 0: it was compared with what lived then, and never kept.
        case comparedOnce(at: Int64)

        var isAlive: Bool { if case .alive = self { true } else { false } }
    }

    /// Where one side's device is.
    struct Place {
        /// False where the device is gone.
        var hasDevice: Bool
        /// nil: nothing is known.
        var position: Position?
        var floor: FloorRef
        /// The client may know it.
        var isShown = true
    }

    var publication: PublicationRecord
    var publicationLife: Life
    var publicationPlace: Place
    var subscription: SubscriptionRecord
    var subscriptionLife: Life
    var subscriptionPlace: Place
    /// Where one side is a beacon: how far the other sees it; nil: it does not.
    var sighting: BeaconSighting?
    /// One side is a beacon, which has no position.
    var isOfBeacon = false
    /// Of a pair that lives.
    var memory: PairMemory
    var now: Int64
    /// The publication is the client's own, or the client is an administrator.
    var isOwn: Bool

    var topicsAreEqual: Bool { publication.topic.hasSameBytes(as: subscription.topic) }

    /// nil without both positions.
    var proximity: Proximity? {
        guard let here = publicationPlace.position, let there = subscriptionPlace.position else { return nil }
        return Proximity(
            publication: here, range: publication.range, subscription: there, range: subscription.range,
            accuracy: subscription.options.accuracy)
    }

    /// Metres: the sum of both ranges.
    var reach: Double { publication.range + subscription.range }

    var isInRange: Bool { isOfBeacon ? sighting.map { $0.distance <= reach } ?? false : proximity?.isInRange == true }

    /// Whether a publication is in range is reported where the topic passes: with any other it never matches, whatever is tried.
    var showsRange: Bool { isOwn || topicsAreEqual }

    /// Figures and properties of another client's publication are shown where topic and range pass: a match would show them, too.
    var showsFigures: Bool { isOwn || topicsAreEqual && isInRange }
}
