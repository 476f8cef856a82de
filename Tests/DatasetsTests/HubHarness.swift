import DaemonCore
import Foundation
import Logging
import MQTTDoor
import MemoryStore
import Wire

@testable import Datasets
@testable import Records

/// The core with a store that is a few tables, a door that remembers what left and what is retained, and a clock that is advanced.
final class HubHarness {
    private(set) var core: Core
    var hub: Hub { core.hub }
    private let clock = HarnessClock()
    let log = MemoryLog()
    private let door: HarnessDoor
    private let poster = HarnessPoster()
    let pushPoster = HarnessPushPoster()
    private var configuration: HubConfiguration
    private var lives: UInt64 = 1
    /// What was durable as this life began.
    private var former = MemoryStore()

    var now: Int64 {
        get { clock.now }
        set { clock.now = newValue }
    }
    /// So many milliseconds pass whenever the core looks at its monotonic clock.
    var clockStep: Int64 {
        get { clock.step }
        set { clock.step = newValue }
    }
    /// How often the core asked for another turn.
    var wakes: Int { door.wakes }
    var store: MemoryStore { log.store }
    /// What became durable, in order.
    var changes: [DurableChange] {
        get { log.committed }
        set { log.committed = newValue }
    }
    /// What was published since the last request.
    var published: [Published] {
        get { door.published }
        set { door.published = newValue }
    }
    /// How many things left; what is for many at once counts once.
    var itemsSent: Int { door.itemsSent }
    /// What the broker retains.
    var retained: [String: String] { door.retained }
    /// Those that the door knows the store to have.
    var durableDatasets: [String] { door.durableDatasets }
    /// What was posted to webhooks and not yet answered for.
    var posts: [WebhookPost] {
        get { poster.posts }
        set { poster.posts = newValue }
    }
    /// What was noted for the log.
    var notices: [String] { door.notices.lines }
    var logLevel: Logger.Level {
        get { door.notices.logLevel }
        set { door.notices.logLevel = newValue }
    }
    /// The broker takes each match at once.
    var acknowledges: Bool {
        get { door.acknowledges }
        set { door.acknowledges = newValue }
    }
    /// How much waits at the link.
    var backlog: Int {
        get { door.backlog }
        set { door.backlog = newValue }
    }
    /// Of replies to each client that have not arrived.
    var untakenReplyBytes: Int {
        get { door.untakenReplyBytes }
        set { door.untakenReplyBytes = newValue }
    }
    /// The store can be written; it is noticed when something is.
    var isDiskFull: Bool {
        get { log.isFull }
        set { log.isFull = newValue }
    }
    var isRefusalKnown: Bool { !log.isWritable }

    struct Published: Equatable {
        var topic: String
        var payload: String
        var qos: UInt8
        var retain: Bool
        var token: UInt64
        var correlation: [UInt8]?

        var json: JSONValue? { try? JSONValue.parse(payload) }
    }

    init(prefix: String = "", liveQoS: Int32 = 0, _ adjust: (inout HubConfiguration) -> Void = { _ in }) {
        door = HarnessDoor(Topics(prefix: prefix), liveQoS: liveQoS)
        configuration = HubConfiguration()
        configuration.naming = door.topics.naming
        adjust(&configuration)
        core = Self.core(Hub(configuration), log, clock, door, life: lives)
        core.log = log
        core.poster = poster
        core.pushPoster = pushPoster
        connect()
    }

    private static func core(
        _ hub: Hub, _ log: MemoryLog, _ clock: HarnessClock, _ door: HarnessDoor, life: UInt64
    ) -> Core {
        let notices = door.notices
        let core = Core(
            hub: hub, seed: (life, 2),
            clock: CoreClock(now: { clock.now }, monotonic: { clock.monotonic() }),
            logger: Logger(label: "harness") { _ in notices },
            health: Health())
        core.add(door)
        door.core = core
        return core
    }

    func connect() {
        core.begin()
        core.doorOpened(holding: nil)
        end()
    }

    // MARK: Input

    struct Message {
        var topic: [UInt8]
        var payload: [UInt8]
        var retained = false
        var responseTopic: [UInt8]?
        var correlation: [UInt8]?

        init(
            _ topic: String, _ payload: String, retained: Bool = false, responseTopic: String? = nil, correlation: String? = nil
        ) {
            self.init(bytes: Array(topic.utf8), Array(payload.utf8))
            self.retained = retained
            self.responseTopic = responseTopic.map { Array($0.utf8) }
            self.correlation = correlation.map { Array($0.utf8) }
        }

        init(bytes topic: [UInt8], _ payload: [UInt8]) {
            self.topic = topic
            self.payload = payload
        }
    }

    /// A message as the broker would pass it.
    func send(
        _ topic: String, _ payload: String, retained: Bool = false, responseTopic: String? = nil, correlation: String? = nil
    ) {
        batch([Message(topic, payload, retained: retained, responseTopic: responseTopic, correlation: correlation)])
    }

    func send(_ topic: String, bytes: [UInt8]) { batch([Message(bytes: Array(topic.utf8), bytes)]) }

    /// A live state that the broker retained over a kill, or that it has back where `restores` is false.
    func adopt(_ topic: String, _ payload: String, restores: Bool = true) {
        core.begin()
        door.adopt(topic, payload, restores: restores)
        end()
    }

    /// The broker comes back, and has live states up to a number.
    func reconnect(holding number: Int64 = 0) {
        loseBroker()
        core.begin()
        core.doorOpened(holding: number)
        end()
    }

    /// Several messages in one batch, as the daemon's loop handles them.
    func batch(_ messages: [Message]) {
        core.begin()
        for message in messages { door.receive(message) }
        end()
    }

    /// Lets time pass in steps of a tick.
    func advance(milliseconds: Int64, step: Int64 = Hub.tickMilliseconds) {
        let end = now + milliseconds
        while now < end {
            now = min(end, now + step)
            _ = core.tick()
            settleLog()
        }
    }

    func loseBroker() { core.doorClosed() }

    func acknowledge(_ token: UInt64, reason: UInt8 = 0) {
        core.begin()
        core.delivered(token, refusal: reason < 0x80 ? nil : "the broker refused it with reason \(reason)")
        recordDeliveries()
    }

    /// What became of a post.
    func answer(_ post: WebhookPost, _ outcome: PostOutcome = .taken(status: 200)) {
        poster.answer(post, outcome)
        core.woken()
        recordDeliveries()
    }

    /// What became of a message for a push service.
    func answer(_ post: PushPost, _ outcome: PostOutcome = .taken(status: 200)) {
        pushPoster.answer(post, outcome)
        core.woken()
        recordDeliveries()
    }

    /// What became of deliveries is recorded at once, as it is where a second passes.
    var recordsAtOnce = true

    private func recordDeliveries() {
        if recordsAtOnce { core.recordDeliveries() } else { core.end() }
        settleLog()
    }

    /// Ends a batch, and lets the disk do all it has to.
    func end() {
        core.end()
        settleLog()
    }

    /// The disk takes its time: it does nothing but what ``writeNext()`` has it do.
    var isDiskSlow = false {
        didSet { settleLog() }
    }

    /// Has the disk take the oldest commit and find what it is asked; the core hears of it later where it is not notified now.
    func writeNext(isNotified: Bool = true) {
        log.work(count: 1)
        if isNotified { core.woken() }
    }

    /// Lets the disk do all it has to.
    func settleLog() {
        guard !isDiskSlow else { return }
        log.work()
        while log.hasCompletions || hub.isResuming {
            core.woken()
            if door.acknowledges, recordsAtOnce { core.recordDeliveries() }
            log.work()
        }
    }

    /// There is room on the disk again.
    func heal() {
        isDiskFull = false
        core.begin()
        end()
        core.begin()
        end()
    }

    /// The daemon ends, or is killed, and starts again on the same store and broker; `meanwhile` is before the broker is reached.
    ///
    /// - Parameter number: The broker is known to have live states up to here; nil: all of them, or none after a kill.
    func restart(killed: Bool = false, holding number: Int64? = nil, meanwhile: () -> Void = {}) {
        if !killed {
            core.finish()
            settleLog()
        }
        let mark = number ?? (killed ? 0 : hub.liveNumber)
        lives += 1
        log.forgetUnwritten()
        let hub = Hub(configuration)
        if !follows(hub) { for change in store.restored() { try? hub.restore(change, at: now) } }
        core = Self.core(hub, log, clock, door, life: lives)
        core.log = log
        core.poster = poster
        core.pushPoster = pushPoster
        former = store
        log.written = []
        hub.endRestoration(liveNumber: store.highestLiveNumber, matchNumber: store.highestMatchNumber)
        published.removeAll()
        posts.removeAll()
        pushPoster.posts.removeAll()
        meanwhile()
        core.begin()
        core.doorOpened(holding: mark)
        end()
        settle()
    }

    /// Whether lives begin as a node takes over that followed the former one: every test that restarts shows then that it is the same.
    private static let follows = ProcessInfo.processInfo.environment["GEOMATCH_TEST_FOLLOWING"] != nil

    /// - Returns: false where not all that was written can be followed; the hub is as it was.
    private func follows(_ hub: Hub) -> Bool {
        guard Self.follows else { return false }
        let trial = Hub(configuration)
        for hub in [trial, hub] {
            for change in former.restored() { try? hub.restore(change, at: now) }
            for change in log.written {
                if (try? hub.follow(change, at: now)) != true { return false }
            }
        }
        return true
    }

    /// What the operator changes takes effect with the next life.
    func adjust(_ change: (inout HubConfiguration) -> Void) { change(&configuration) }

    /// Has what the broker retains reported again as far as it may be missing.
    func settle() {
        while !hub.isSettled {
            core.begin()
            core.continueResync(count: 100)
            end()
        }
    }

    // MARK: Requests

    /// Sends a request and takes its reply out.
    func request(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> JSONValue? {
        published.removeAll()
        send("geomatch/\(dataset)/\(client)/request/\(name)", parameters)
        while true {
            if let reply = takeReply(client: client, dataset: dataset) { return reply }
            // What goes through very many objects takes turns.
            guard hub.isSearching, hub.datasets[dataset]?.isLoading == false else { return nil }
            _ = core.tick()
            settleLog()
        }
    }

    func takeReply(client: String = "alice", dataset: String = "d") -> JSONValue? {
        let topic = "geomatch/\(dataset)/\(client)/reply"
        guard let index = published.firstIndex(where: { $0.topic == topic }) else { return nil }
        return published.remove(at: index).json
    }

    func result(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> JSONValue? {
        request(name, parameters, client: client, dataset: dataset)?["result"]
    }

    /// `error` and `field` of a refused request, such as `invalid range`; nil where it succeeded.
    func refusal(_ name: String, _ parameters: String = "{}", client: String = "alice", dataset: String = "d") -> String? {
        request(name, parameters, client: client, dataset: dataset)?["error"].map(\.refusal)
    }

    var matches: [Published] { published.filter { $0.topic.contains("/match/") } }

    /// What was published on a topic since the last request.
    func payloads(_ topic: String) -> [String] { published.filter { $0.topic == topic }.map(\.payload) }

    /// - Parameter client: Whose they are; nil for those that all may read.
    func diagnostics(_ kind: String = "update", dataset: String = "d", client: String? = nil) -> [JSONValue] {
        let tree = client.map { "\(dataset)/\($0)" } ?? dataset
        return published.filter { $0.topic == "geomatch/\(tree)/diagnostics/\(kind)" }.compactMap(\.json)
    }

    var counters: DatasetCounters { hub.datasets["d"]?.counters ?? DatasetCounters() }

    /// The devices that have a publication and a subscription in most tests: a pin and a phone that can be moved.
    func makePair(_ publication: String = "", _ subscription: String = "") {
        _ = request("device/create", #"{"deviceType":"PinDevice","id":"pin","location":{"latitude":43.73,"longitude":7.42}}"#)
        _ = request("device/create", #"{"deviceType":"MobileDevice","id":"phone"}"#)
        _ = request(
            "publication/create",
            #"{"id":"p","deviceId":"pin","topic":"coffee","range":50,"duration":3600\#(publication)}"#)
        _ = request(
            "subscription/create",
            #"{"id":"s","deviceId":"phone","topic":"coffee","range":50,"duration":3600\#(subscription)}"#)
    }

    /// Moves a device so many metres north of the pin.
    func move(_ device: String = "phone", metres: Double, extra: String = "") {
        let latitude = 43.73 + metres / 111_100
        send("d/-/-/-/-/\(device)/position", #"{"lat":\#(latitude),"lon":7.42\#(extra)}"#)
    }
}

extension JSONValue {
    subscript(_ key: String) -> JSONValue? {
        if case .object(let object) = self { object[key] } else { nil }
    }

    var text: String? { asString }

    var number: Double? { asDouble }

    var elements: [JSONValue] { asArray ?? [] }

    var keys: [String] { asObject?.keys ?? [] }

    /// `error` and `field` of an error.
    var refusal: String { [self["error"]?.text, self["field"]?.text].compactMap(\.self).joined(separator: " ") }
}
