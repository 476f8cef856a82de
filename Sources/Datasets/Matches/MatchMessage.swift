import Geodesy
import Matching
import Wire
import Records

/// What a match, or the end of a visit, says.
struct MatchMessage {
    enum Event {
        case matched
        /// A visit began, or ended for a reason: what ties the two together is the id of the begin.
        case began
        case ended(visit: String, VisitEnd.Reason)

        var word: String { if case .ended = self { "ended" } else { "matched" } }
    }

    /// Its own.
    var id: String
    var event: Event
    /// Milliseconds since 1970 UTC.
    var at: Int64
    /// Metres; nil where a side has no position.
    var distance: Double?
    var publicationPosition: Position?
    var subscriptionPosition: Position?

    init(id: String, event: Event, _ meeting: Meeting) {
        self.id = id
        self.event = event
        at = meeting.at
        distance = meeting.distance
        publicationPosition = meeting.publicationPosition
        subscriptionPosition = meeting.subscriptionPosition
    }

    init(id: String, visit: String, _ end: VisitEnd) {
        self.id = id
        event = .ended(visit: visit, end.reason)
        at = end.at
        distance = end.distance
        publicationPosition = end.publicationPosition
        subscriptionPosition = end.subscriptionPosition
    }

    /// `{"id","event","visit"?,"reason"?,"createdAt","distance"?,"publication":{…,"location"?},"subscription":{…,"location"?}}`
    func encode(_ publication: PublicationRecord, _ subscription: SubscriptionRecord) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("id", id)
            writer.member("event", event.word)
            switch event {
            case .matched: break
            case .began: writer.member("visit", id)
            case .ended(let visit, let reason):
                writer.member("visit", visit)
                writer.member("reason", reason.word)
            }
            writer.member("createdAt", at)
            // To the millimetre.
            writer.member("distance", optional: distance.map { ($0 * 1000).rounded() / 1000 })
            writer.key("publication")
            writer.beginObject()
            publication.encodeMembers(into: &writer)
            encode(publicationPosition, into: &writer)
            writer.endObject()
            writer.key("subscription")
            writer.beginObject()
            subscription.encodeMembers(into: &writer)
            encode(subscriptionPosition, into: &writer)
            writer.endObject()
        }
    }

    private func encode(_ position: Position?, into writer: inout JSONWriter) {
        guard let position else { return }
        writer.key("location")
        position.encode(into: &writer)
    }
}

extension VisitEnd.Reason {
    fileprivate var word: String {
        switch self {
        case .left: "left"
        case .expired: "expired"
        case .deleted: "deleted"
        case .lost: "lost"
        }
    }
}
