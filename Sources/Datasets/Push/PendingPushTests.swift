import Wire

/// Messages that clients have sent to the tokens of a device to see what the push services say of them.
///
/// Each is sent once and beside the deliveries: nothing of it is durable, and it counts for no subscription.
struct PendingPushTests {
    /// One device's tokens under test.
    struct Test {
        let context: ReplyContext
        let deviceID: String
        /// Each token and what its service said, in order.
        var answers: [(target: PushTarget, outcome: PostOutcome?)]
        /// When it is answered without what is missing then.
        let endsAt: Int64

        var isComplete: Bool { answers.allSatisfy { $0.outcome != nil } }
    }

    private var tests: [Int64: Test] = [:]
    private var lastNumber: Int64 = 0

    /// Beyond every slot of a delivery: 0 is its recipient, then come its pushers.
    static let slot = 31
    static let targetsMax = 16
    /// At once, of all clients.
    static let countMax = 64
    /// Before a client gives up waiting for its reply.
    static let milliseconds: Int64 = 8000

    var isFull: Bool { tests.count >= Self.countMax }

    /// - Returns: The tokens of its posts, in order.
    mutating func begin(_ test: Test) -> [DeliveryToken] {
        lastNumber += 1
        tests[lastNumber] = test
        return test.answers.indices.map {
            DeliveryToken(number: lastNumber * Int64(Self.targetsMax) + Int64($0), slot: Self.slot)
        }
    }

    /// What became of one of its posts.
    ///
    /// - Returns: The token that it was sent to, and the test where that was the last; nil where the test is over.
    mutating func end(_ token: DeliveryToken, _ outcome: PostOutcome) -> (test: Test, target: PushTarget, isComplete: Bool)? {
        let (number, index) = token.number.quotientAndRemainder(dividingBy: Int64(Self.targetsMax))
        guard var test = tests[number], test.answers.indices.contains(Int(index)) else { return nil }
        test.answers[Int(index)].outcome = outcome
        tests[number] = test.isComplete ? nil : test
        return (test, test.answers[Int(index)].target, test.isComplete)
    }

    /// Those whose time is over, in the order in which they began.
    mutating func takeOverdue(at now: Int64) -> [Test] {
        guard !tests.isEmpty else { return [] }
        let numbers = tests.filter { $0.value.endsAt <= now }.keys.sorted()
        return numbers.compactMap { tests.removeValue(forKey: $0) }
    }
}

extension PendingPushTests.Test {
    /// `{"deviceId","tests":[{"service","outcome","message"}]}`
    func encoded() -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("deviceId", deviceID)
            writer.key("tests")
            writer.beginArray()
            for (target, outcome) in answers {
                let finding = PushFinding(outcome, of: target.kind)
                writer.beginObject()
                writer.member("service", target.kind.rawValue)
                writer.member("outcome", finding.outcome)
                writer.member("message", finding.message)
                writer.endObject()
            }
            writer.endArray()
        }
    }
}

/// What one try says to a person: what happened, and what to do.
struct PushFinding: Equatable {
    var outcome: String
    /// One sentence.
    var message: String

    /// - Parameter result: nil: the service did not answer in time.
    init(_ result: PostOutcome?, of kind: PushKind) {
        switch result {
        case .taken(let status):
            (outcome, message) = ("accepted", "sent, and accepted by \(kind.title) (\(status))")
        case .gone(let reason):
            (outcome, message) = ("gone", "\(reason); \(kind.adviceForGone)")
        case .misconfigured(let reason):
            (outcome, message) = ("misconfigured", "refused: \(reason); \(kind.adviceForOperators(reason))")
        case .refused(let reason):
            (outcome, message) = ("refused", "refused: \(reason)")
        case .failed(let reason, let retryAfter):
            let wait = retryAfter.map { "in \(max(1, $0 / 1000)) s" } ?? "later"
            (outcome, message) = ("failed", "not sent: \(reason); try again \(wait)")
        case nil:
            (outcome, message) = (
                "failed",
                "not sent: \(kind.title) has not answered within \(PendingPushTests.milliseconds / 1000) s; check that the daemon reaches it"
            )
        }
    }
}

extension PushKind {
    /// As people call it.
    var title: String {
        switch self {
        case .apns: "APNs"
        case .fcm: "FCM"
        case .web: "the browser's push service"
        }
    }

    fileprivate var adviceForGone: String {
        switch self {
        case .apns:
            "set the `deviceToken` that the app has now, or the other `push.apns.environment` where the token is new"
        case .fcm: "set the `deviceToken` that the app has now"
        case .web: "subscribe again in the browser, and name that in the `pushers` of the subscription"
        }
    }

    /// - Parameter reason: With the service's own word in it.
    fileprivate func adviceForOperators(_ reason: String) -> String {
        switch self {
        case .apns where reason.contains("Environment"): "the operator changes `push.apns.environment`"
        case .apns where reason.contains("Topic"): "the operator sets `push.apns.topic` to the bundle id of the app"
        case .apns: "the operator checks `team-id`, `key-id` and `key-file` of `push.apns`"
        case .fcm: "the operator checks that `push.fcm.service-account-file` is of the app's project"
        case .web: "the operator restores the key in `push.web.key-file` that the browser subscribed with"
        }
    }
}
