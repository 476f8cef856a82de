internal import Foundation
internal import LiveTopics
internal import Synchronization
internal import Wire

/// A daemon in memory, for the tests of an application: no broker, no network, no files.
///
/// ```swift
/// let fake = GeomatchFake(dataset: "demo")
/// let client = try fake.client("me")
/// let phone = try await client.devices.create(.mobile(id: "phone")).value
/// ```
///
/// It keeps what is created, and hands live data to live subscriptions by their criteria. It does not match, range or evaluate
/// anything: ``match(publication:subscription:distance:)`` and ``send(_:to:on:)`` say what a daemon would, and
/// ``answer(_:with:)`` what it would reply. `where`, `within` and `minInterval` of live subscriptions are not looked at.
public final class GeomatchFake: Sendable {
    /// What an application asked.
    public struct Request: Sendable {
        public var client: String
        /// Resource and verb: `device/create`.
        public var name: String
        public var parameters: [String: PropertyValue]
    }

    public typealias Answer = @Sendable (Request) throws(GeomatchError) -> [String: PropertyValue]

    struct State {
        /// By resource and id.
        var objects: [String: [String: [String: PropertyValue]]] = [:]
        var answers: [String: Answer] = [:]
        var requests: [Request] = []
        var live: [LiveTarget] = []
        /// Live updates by their topic.
        var known: [String: JSONObject] = [:]
        /// Matches by the subscribing device, oldest first.
        var matches: [String: [PropertyValue]] = [:]
        var links: [FakeLink] = []
        /// Messages that nobody listened to, oldest first.
        var waiting: [(client: String, path: String, payload: [UInt8])] = []
    }

    /// A live subscription.
    struct LiveTarget {
        var client: String
        var id: String
        var criteria: Criteria
    }

    public let dataset: String
    let state = Mutex(State())

    public init(dataset: String) { self.dataset = dataset }

    /// A client of it; as many as you like, also of one name.
    public func client(_ name: String) throws(GeomatchError) -> GeomatchClient { try GeomatchClient(configuration(of: name)) }

    /// What a ``LiveDataManager`` or another client is made with.
    public func configuration(of client: String) -> GeomatchConfiguration {
        var configuration = GeomatchConfiguration(broker: "mqtt://in-memory", dataset: dataset, client: client)
        configuration.fake = self
        return configuration
    }

    /// All that was asked, in order.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// Answers requests of this name from now on, instead of what the fake does by itself.
    ///
    /// - Parameter answer: Returns the `result`, or throws what the client is to get.
    public func answer(_ name: String, with answer: @escaping Answer) { state.withLock { $0.answers[name] = answer } }

    /// Sends a message below a client's own topics, as the daemon would: `geofence/home`, `circumstance/coffee`, `beacon/gallery`.
    /// It waits for the first listener.
    public func send(_ members: [String: PropertyValue], to client: String, on path: String) {
        deliver(PropertyValue.object(members).json, to: client, on: path)
    }

    /// Makes a live update known, as a device or the daemon would.
    public func publish(_ properties: [String: PropertyValue], on topic: LiveUpdateTopic, at instant: Int64? = nil) {
        let now = instant ?? WallClock.now()
        let update: JSONObject = [
            "topic": .string(topic.encoded), "domainType": .string(topic.levels.domain), "itemId": .string(topic.levels.itemID),
            "timestamp": .integer(now), "receivedAt": .integer(now), "properties": .object(PropertyValue.json(of: properties)),
        ]
        let targets = state.withLock { state in
            state.known[topic.encoded] = update
            return state.live.filter { $0.criteria.matches(topic.levels) }
        }
        for target in targets { deliver(.object(update), to: target) }
    }

    /// Clears what is known of a topic: subscriptions hear that it left.
    public func clear(_ topic: LiveUpdateTopic) {
        let (update, targets) = state.withLock { state in
            (state.known.removeValue(forKey: topic.encoded), state.live.filter { $0.criteria.matches(topic.levels) })
        }
        guard var update else { return }
        update["left"] = true
        for target in targets { deliver(.object(update), to: target) }
    }

    /// Notifies the owner of a subscription that a publication matched it; both were created before.
    ///
    /// - Returns: The id of the match.
    /// - Throws: `notFound`
    @discardableResult
    public func match(
        publication: String, subscription: String, distance: Double = 0
    ) throws(GeomatchError) -> String {
        let (offered, wanted) = (try object("publication", publication), try object("subscription", subscription))
        let device = wanted["deviceId"]?.stringValue ?? ""
        let id = UUID().uuidString.lowercased()
        let match: PropertyValue = [
            "id": .string(id), "event": "matched", "createdAt": .integer(WallClock.now()), "distance": .number(distance),
            "publication": .object(offered), "subscription": .object(wanted),
        ]
        state.withLock { $0.matches[device, default: []].append(match) }
        deliver(
            match.json, to: wanted["owner"]?.stringValue ?? "",
            on: "match/\(LevelCoding.encode(device))/\(LevelCoding.encode(subscription))")
        return id
    }

    // MARK: Delivery

    private func deliver(_ update: JSONValue, to target: LiveTarget) {
        deliver(update, to: target.client, on: "live/\(LevelCoding.encode(target.id))")
    }

    private func deliver(_ message: JSONValue, to client: String, on path: String) {
        let payload = message.serialised()
        let listening = state.withLock { state in
            let listening = state.links.filter { $0.client == client && $0.hears(path) }
            // Live data is lost where nobody listens.
            if listening.isEmpty, !path.hasPrefix("live/"), state.waiting.count < Self.waitingMax {
                state.waiting.append((client, path, payload))
            }
            return listening
        }
        for link in listening { link.deliver(payload, on: path) }
    }

    private static let waitingMax = 10_000

    /// What waits for a link, by now.
    func takeWaiting(for link: FakeLink) -> [(path: String, payload: [UInt8])] {
        state.withLock { state in
            let taken = state.waiting.filter { $0.client == link.client && link.hears($0.path) }
            state.waiting.removeAll { $0.client == link.client && link.hears($0.path) }
            return taken.map { ($0.path, $0.payload) }
        }
    }

    func join(_ link: FakeLink) { state.withLock { $0.links.append(link) } }
    func leave(_ link: FakeLink) { state.withLock { $0.links.removeAll { $0 === link } } }
}
