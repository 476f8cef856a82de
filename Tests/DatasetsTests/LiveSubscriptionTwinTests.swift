import LiveTopics
import SeededRandom
import Testing
import Wire

@testable import Datasets

@Suite("Live subscriptions against a naive twin")
struct LiveSubscriptionTwinTests {
    @Test("Random updates, clearings, subscriptions, lost brokers and restarts tell what evaluating everything tells")
    func twin() {
        var random = SplitMix64.forTest()
        for round in 0..<12 {
            let harness = HubHarness()
            _ = harness.request("dataset/create", client: "admin")
            var twin = NaiveLiveSubscriptions()
            for step in 0..<220 {
                harness.published.removeAll()
                let action = NaiveLiveSubscriptions.Action.random(&random)
                let expected = twin.apply(action)
                perform(action, on: harness)
                let reported = messages(harness)
                #expect(reported == expected, "round \(round), step \(step): \(action)")
                if reported != expected { return }
            }
        }
    }

    private func perform(_ action: NaiveLiveSubscriptions.Action, on harness: HubHarness) {
        switch action {
        case .update(let topic, let value, _) where topic == NaiveLiveSubscriptions.companion:
            harness.send(topic, #"{"v":\#(value)}"#)
        case .update(let topic, let value, let latitude):
            harness.send(topic, #"{"v":\#(value),"latitude":\#(latitude),"longitude":0}"#)
        case .clear(let topic): harness.send(topic, "")
        case .subscribe(let id, let filter, let minimum, let north, let snapshot):
            var parameters = #""criteria":"\#(filter)","id":"\#(id)","snapshot":\#(snapshot)"#
            if let minimum { parameters += #","where":"v >= \#(minimum)""# }
            if let north { parameters += #","within":{"bbox":[-1,0,1,\#(north)]}"# }
            _ = harness.request("live/subscribe", "{\(parameters)}")
        case .unsubscribe(let id): _ = harness.request("live/unsubscribe", #"{"id":"\#(id)"}"#)
        case .away(let updates):
            let mark = harness.hub.liveNumber
            harness.loseBroker()
            for update in updates { perform(update, on: harness) }
            #expect(messages(harness).isEmpty)
            harness.hub.doorHolds(through: mark)
            harness.connect()
            harness.settle()
        case .restart: harness.restart()
        }
        harness.settle()
    }

    /// What each subscription was sent of each topic, in order.
    private func messages(_ harness: HubHarness) -> [NaiveLiveSubscriptions.Stream: [String]] {
        var reported: [NaiveLiveSubscriptions.Stream: [String]] = [:]
        for message in harness.published where message.topic.hasPrefix("geomatch/d/alice/live/") {
            guard let json = message.json, let topic = json["topic"]?.text else { continue }
            let id = String(message.topic.dropFirst("geomatch/d/alice/live/".count))
            let value = Int(json["properties"]?["v"]?.number ?? -1)
            reported[.init(id: id, topic: topic), default: []].append(json["left"] == nil ? "\(value)" : "\(value) left")
        }
        return reported
    }
}

/// Live subscriptions decided by looking at everything each time.
struct NaiveLiveSubscriptions {
    struct Stream: Hashable {
        var id: String
        var topic: String
    }

    enum Action {
        case update(topic: String, value: Int, latitude: Int)
        case clear(topic: String)
        case subscribe(id: String, filter: String, minimum: Int?, north: Int?, snapshot: Bool)
        case unsubscribe(id: String)
        /// The broker is away while these happen.
        indirect case away([Action])
        case restart

        static let topics = [
            "d/v/b/0/r0/-/noise", "d/v/b/0/r1/-/noise", "d/v/b/1/r0/-/noise", "d/v/b/1/r0/x/noise", "d/-/-/-/-/p/position",
            "d/v/b/0/-/p/position", "d/v/b/1/-/q/position", companion,
        ]

        static func random(_ random: inout SplitMix64) -> Action {
            switch random.below(100) {
            case 0..<60: return update(&random)
            case 60..<72: return .clear(topic: random.pick(topics))
            // Some are sent the same.
            case 72..<80: return .subscribe(id: "s\(random.below(6))", filter: "d/#", minimum: nil, north: 5, snapshot: true)
            case 80..<88:
                return .subscribe(
                    id: "s\(random.below(6))",
                    filter: random.pick(["d/#", "d/v/b/0/#", "d/+/+/+/+/+/position", "d/v/b/1/r0/+/noise"]),
                    minimum: random.chance(40) ? random.below(10) : nil, north: random.chance(60) ? random.below(10) : nil,
                    snapshot: random.chance(70))
            case 88..<92: return .unsubscribe(id: "s\(random.below(6))")
            case 92..<98:
                return .away(
                    (0..<random.below(8)).map { _ in random.chance(70) ? update(&random) : .clear(topic: random.pick(topics)) })
            default: return .restart
            }
        }

        private static func update(_ random: inout SplitMix64) -> Action {
            .update(topic: random.pick(topics), value: random.below(10), latitude: random.below(10))
        }
    }

    /// It is where `p` is.
    static let companion = "d/v/b/1/r0/p/noise"

    private struct Update {
        var value: Int
        /// nil: nowhere.
        var latitude: Int?
        /// When it was published, counted in changes.
        var at: Int
    }

    private struct Subscription {
        var filter: TopicFilter
        var minimum: Int?
        var north: Int?
        var snapshot: Bool
        var at: Int
        var inside: Set<String> = []

        func lets(_ update: Update, of topic: String) -> Bool {
            filter.matches(topic) && minimum.map { update.value >= $0 } ?? true
                && north.map { update.latitude ?? .max <= $0 } ?? true
        }
    }

    private var updates: [String: Update] = [:]
    /// Topics of which something was ever known.
    private var known: Set<String> = []
    private var subscriptions: [String: Subscription] = [:]
    private var changes = 0
    private var isAway = false
    /// What changed while the broker was away, by topic: the last message before it was cleared, or nil.
    private var changed: [String: Update?] = [:]
    private var reported: [Stream: [String]] = [:]

    mutating func apply(_ action: Action) -> [Stream: [String]] {
        reported = [:]
        perform(action)
        return reported
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .update(let topic, let value, let latitude):
            for other in others(than: topic) { clear(other, followed: false) }
            changes += 1
            updates[topic] = Update(value: value, latitude: topic == Self.companion ? whereItIs : latitude, at: changes)
            known.insert(topic)
            tell(topic, former: nil)
            followCompanion(topic)
        case .clear(let topic): if known.contains(topic) { clear(topic) }
        case .subscribe(let id, let filter, let minimum, let north, let snapshot):
            guard let filter = try? TopicFilter(filter) else { return }
            subscriptions[id] = Subscription(filter: filter, minimum: minimum, north: north, snapshot: snapshot, at: changes)
            if snapshot { show(id) }
        case .unsubscribe(let id): subscriptions[id] = nil
        case .away(let actions):
            let before = changes
            isAway = true
            changed = [:]
            for action in actions { perform(action) }
            isAway = false
            for id in subscriptions.keys where subscriptions[id]?.snapshot == true && before <= (shownAt[id] ?? 0) { show(id) }
            for (topic, former) in changed { tell(topic, former: former) }
            if movedWhileAway { judgeCompanion() }
            movedWhileAway = false
        case .restart:
            for id in subscriptions.keys {
                subscriptions[id]?.inside = []
                if subscriptions[id]?.snapshot == true { show(id) } else { remember(id) }
            }
        }
    }

    /// When each had its last snapshot.
    private var shownAt: [String: Int] = [:]

    /// A position is on one topic only.
    private func others(than topic: String) -> [String] {
        guard topic.hasSuffix("/p/position") else { return [] }
        return updates.keys.filter { $0.hasSuffix("/p/position") && $0 != topic }
    }

    private mutating func clear(_ topic: String, followed: Bool = true) {
        changes += 1
        let former = updates.removeValue(forKey: topic)
        tell(topic, former: former)
        if followed { followCompanion(topic) }
    }

    private var whereItIs: Int? { updates.first { $0.key.hasSuffix("/p/position") }?.value.latitude }

    /// The companion comes into areas with its item, and leaves them.
    private mutating func followCompanion(_ topic: String) {
        guard topic.hasSuffix("/p/position"), updates[Self.companion] != nil else { return }
        let latitude = whereItIs
        updates[Self.companion]?.latitude = latitude
        if isAway { movedWhileAway = true } else { judgeCompanion() }
    }

    private var movedWhileAway = false

    private mutating func judgeCompanion() {
        guard let update = updates[Self.companion] else { return }
        for (id, subscription) in subscriptions where subscription.north != nil && subscription.filter.matches(Self.companion) {
            let lets = subscription.lets(update, of: Self.companion)
            guard lets != subscription.inside.contains(Self.companion) else { continue }
            if lets { subscriptions[id]?.inside.insert(Self.companion) } else { subscriptions[id]?.inside.remove(Self.companion) }
            reported[Stream(id: id, topic: Self.companion), default: []].append(lets ? "\(update.value)" : "\(update.value) left")
        }
    }

    private mutating func show(_ id: String) {
        shownAt[id] = changes
        for (topic, update) in updates where subscriptions[id]?.lets(update, of: topic) == true {
            if subscriptions[id]?.north != nil { subscriptions[id]?.inside.insert(topic) }
            reported[Stream(id: id, topic: topic), default: []].append("\(update.value)")
        }
    }

    private mutating func remember(_ id: String) {
        guard let subscription = subscriptions[id], subscription.north != nil else { return }
        for (topic, update) in updates where subscription.lets(update, of: topic) {
            let brought = topic == Self.companion ? updates.first { $0.key.hasSuffix("/p/position") }?.value.at : nil
            if max(update.at, brought ?? 0) > subscription.at { subscriptions[id]?.inside.insert(topic) }
        }
    }

    private mutating func tell(_ topic: String, former: Update?) {
        if isAway {
            var last = updates[topic] == nil ? former ?? changed[topic] ?? nil : nil
            // Whether somebody saw it is not known any more: it counts as new as its clearing.
            last?.at = changes
            changed[topic] = .some(last)
            return
        }
        for id in subscriptions.keys {
            guard let subscription = subscriptions[id], subscription.filter.matches(topic) else { continue }
            if let update = updates[topic], subscription.lets(update, of: topic) {
                if subscription.north != nil { subscriptions[id]?.inside.insert(topic) }
                reported[Stream(id: id, topic: topic), default: []].append("\(update.value)")
            } else if subscription.north != nil {
                guard subscriptions[id]?.inside.remove(topic) != nil else { continue }
                reported[Stream(id: id, topic: topic), default: []].append("\((updates[topic] ?? former)?.value ?? -1) left")
            } else if updates[topic] == nil, let former, subscription.lets(former, of: topic),
                subscription.snapshot || former.at > subscription.at
            {
                reported[Stream(id: id, topic: topic), default: []].append("\(former.value) left")
            }
        }
    }
}
