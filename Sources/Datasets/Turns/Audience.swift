/// Those who are sent the same live updates, each under the name of its own subscription.
public final class Audience: Sendable {
    public struct Member: Sendable {
        public let recipient: Recipient
        let subscription: UInt32
    }

    public let members: [Member]
    public let isAssured: Bool
    /// Their subscriptions ask for no topic again within so many milliseconds.
    public let minInterval: Int64
    /// It is there for one update, which not all receive who receive the next one.
    public let isPassing: Bool

    init(members: [Member], isAssured: Bool, minInterval: Int64, isPassing: Bool) {
        self.members = members
        self.isAssured = isAssured
        self.minInterval = minInterval
        self.isPassing = isPassing
    }

    /// What a member is sent, as a notification of its own.
    public func notification(to member: Member, of topicNumber: UInt32) -> Notification {
        Notification(
            recipient: member.recipient, token: token(of: topicNumber, for: member), isAssured: isAssured)
    }

    public func token(of topicNumber: UInt32, for member: Member) -> UInt64 {
        LiveToken(subscription: member.subscription, topicNumber: topicNumber).token
    }
}

extension Output {
    /// The same as notifications to each, where it is for an audience, for doors to which that makes no difference.
    public func forEachReceiver(_ body: (Output) -> Void) {
        guard case .audience(let audience, let topicNumber) = kind else { return body(self) }
        for member in audience.members {
            body(Output(kind: .notification(audience.notification(to: member, of: topicNumber)), name: name, payload: payload))
        }
    }
}
