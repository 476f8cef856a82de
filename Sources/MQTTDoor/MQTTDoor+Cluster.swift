import Cluster
import DaemonCore
import Datasets
import LiveTopics
import MQTTLink
import Wire

// A dataset's requests come to the session of its shard and to the reception, which ignores those in datasets that it knows. When a
// dataset has come or gone, and the store has that, the session of its shard publishes it, and both go by the place of this notice among
// the requests: what the broker took in before it is the one's, what it took in behind it the other's. So each request is carried out
// once.

/// What the session of a shard knows of the datasets, beside the hub.
struct ShardState {
    /// Datasets of other shards that somebody has: the reception leaves their requests alone.
    var known: Set<String> = []
    /// What the store had when it was last looked at.
    var lastView: Set<String> = []
    /// Of which datasets notices came lately: views that were taken before those say nothing of them. With how many views are left.
    var noticed: [String: Int] = [:]
    /// Datasets of this shard whose requests come to its session.
    var opened: Set<String> = []
    /// Those that are to be opened, or closed, when the notice of it comes back.
    var opening: Set<String> = []
    var closing: Set<String> = []
    /// Requests in datasets that nobody has, which the broker held for the reception.
    var undecided: [(dataset: String, message: RoutedMessage)] = []
    /// Of the payloads of all that were put there since they were decided last.
    var undecidedBytes = 0
    /// What the last status said.
    var wasComplete: Bool?
    /// Notifications were kept back while the lease was not renewed.
    var keptBack = false
}

extension MQTTDoor {
    /// Names mark, probe and notices of this session.
    var sessionName: String { role.map { "\(configuration.instance)-\($0.shard)" } ?? configuration.instance }

    /// What leaves may: only an owner sends matches.
    var mayNotify: Bool { role?.isFresh() ?? true }

    // MARK: Datasets come and go

    /// The datasets whose messages the session reads.
    var servedDatasets: [String] {
        guard role != nil else { return core.hub.datasetNames }
        return shardState.opened.union(shardState.closing).union(durableDatasets).sorted()
    }

    /// Of these the reception hears: what the store says of datasets later than that holds.
    private var durableDatasets: Set<String> { Set(core.hub.datasetNames.filter(core.hub.isDurable)) }

    /// The session is open: the reception learns what it has.
    func openDatasets() {
        guard let role, !role.isReception else { return }
        // Some were deleted by requests that had waited for the session.
        shardState.closing.formUnion(shardState.opened.subtracting(core.hub.datasetNames))
        let durable = durableDatasets
        shardState.opened.formUnion(durable)
        shardState.opening = []
        if !durable.isEmpty { publishNotice(durable.sorted(), isHeld: true) }
        if !shardState.closing.isEmpty { publishNotice(shardState.closing.sorted(), isHeld: false) }
    }

    /// The hub's datasets are others: their notices go out, for those that come once the broker has their filters.
    func noteDatasets() {
        guard let role, !role.isReception, session.phase == .online else { return }
        shardState.opening.formUnion(durableDatasets.subtracting(shardState.opened))
        let gone = shardState.opened.subtracting(core.hub.datasetNames).subtracting(shardState.closing)
        if !gone.isEmpty {
            shardState.closing.formUnion(gone)
            publishNotice(gone.sorted(), isHeld: false)
        }
    }

    /// The broker has the filters that were asked for.
    func announceOpened() {
        guard session.additions.isEmpty, !shardState.opening.isEmpty else { return }
        publishNotice(shardState.opening.sorted(), isHeld: true)
    }

    private func publishNotice(_ datasets: [String], isHeld: Bool) {
        let payload = JSONWriter.object { writer in writer.member(isHeld ? "held" : "free", datasets) }
        publish(payload, on: topics.notice(sessionName), qos: 1, retain: false)
    }

    /// A notice came, of this session or to the reception.
    func noteNotice(_ message: InboundMessage, from name: String) {
        guard let role, let notice = (try? JSONValue.parse(Array(message.payload)))?.asObject else { return }
        func names(_ key: String) -> [String] { (notice[key]?.asArray ?? []).compactMap(\.asString) }
        if name == sessionName {
            shardState.opened.formUnion(names("held"))
            shardState.opening.subtract(names("held"))
            for dataset in names("free") where shardState.closing.remove(dataset) != nil { shardState.opened.remove(dataset) }
            // One that came again meanwhile is opened anew.
            datasetsChanged()
            if shardState.opening.isEmpty { publishUnsent() }
        }
        if role.isReception {
            shardState.known.formUnion(names("held"))
            shardState.known.subtract(names("free"))
            for dataset in names("held") + names("free") { shardState.noticed[dataset] = 4 }
            // They came while the dataset was there: the session of its shard has answered them.
            let free = Set(names("free"))
            shardState.undecided.removeAll { free.contains($0.dataset) }
        }
    }

    /// Replies wait until requests in the datasets that they are about come here.
    var holdsReplies: Bool { role != nil && !shardState.opening.isEmpty }

    /// The reception learns what there is, from the store. From the core's thread.
    func noteKnown(_ datasets: Set<String>) {
        guard role?.isReception == true else { return }
        // A notice is on its way of what one of two views has only.
        let (both, either) = (datasets.intersection(shardState.lastView), datasets.union(shardState.lastView))
        let noticed = Set(shardState.noticed.keys)
        shardState.known.formUnion(both.subtracting(noticed))
        shardState.known.formIntersection(either.union(noticed))
        shardState.lastView = datasets
        shardState.noticed = shardState.noticed.compactMapValues { $0 > 1 ? $0 - 1 : nil }
    }

    // MARK: Whose a message is

    enum Reading {
        case here, elsewhere
        /// Nobody has the dataset: it is answered here, or passed on where it may create the dataset.
        case unknown
    }

    /// Whether something in a dataset is for this session.
    func reading(of dataset: String, isRequest: Bool) -> Reading {
        guard let role else { return .here }
        if role.serves(dataset) {
            return role.isReception || !isRequest || shardState.opened.contains(dataset) ? .here : .elsewhere
        }
        guard role.isReception, !shardState.known.contains(dataset) else { return .elsewhere }
        return .unknown
    }

    /// Passes a message on that may create a dataset of another shard.
    func route(_ message: InboundMessage, of dataset: String) { role?.route(RoutedMessage(message, of: dataset)) }

    private static let undecidedMax = 10_000
    private static let undecidedBytesMax = 64 << 20

    /// Has a request in a dataset that nobody has wait, where what the broker held for the reception is being read: behind it may come
    /// the notice that the dataset, which was there when it was asked about, is deleted.
    func postpones(_ message: InboundMessage, of dataset: String) -> Bool {
        switch session.phase {
        case .away, .online, .refused: return false
        case .subscribing, .adopting, .unsubscribing, .probing: break
        }
        guard shardState.undecided.count < Self.undecidedMax, shardState.undecidedBytes < Self.undecidedBytesMax else {
            return false
        }
        shardState.undecided.append((dataset, RoutedMessage(message, of: dataset)))
        shardState.undecidedBytes += message.payload.count
        return true
    }

    /// Answers what waited for notices that have not come, or passes it on.
    func decideUndecided() {
        let undecided = shardState.undecided
        guard !undecided.isEmpty else { return }
        shardState.undecided = []
        shardState.undecidedBytes = 0
        core.begin()
        for (dataset, message) in undecided {
            guard case .request(_, _, let name) = message.topic.withUnsafeBytes({ topics.read($0) }) else { continue }
            if creates(dataset, name) { role?.route(message) } else { take(message) }
        }
        core.end()
    }

    /// Whether a request may create its dataset.
    func creates(_ dataset: String, _ request: String) -> Bool {
        guard Name.isDataset(dataset) else { return false }
        return request == "dataset/create"
            || role?.createsDatasets == true && RequestTable.row(of: request)?.createsDataset == true
    }

    /// Takes in what the reception passed on. From any thread.
    public func receive(_ message: RoutedMessage) {
        routed.withLock { $0.append(message) }
        wake()
    }

    /// Handles what was passed on, in order.
    func takeRouted() {
        guard role != nil, session.phase == .online else { return }
        let messages = routed.withLock { messages in
            defer { messages = [] }
            return messages
        }
        guard !messages.isEmpty else { return }
        core.begin()
        for message in messages { take(message) }
        core.end()
    }

    private func take(_ message: RoutedMessage) {
        let padded = message.payload + [UInt8](repeating: 0, count: 64)
        message.topic.withUnsafeBytes { topic in
            padded.withUnsafeBytes { payload in
                let payload = UnsafeRawBufferPointer(rebasing: payload.prefix(message.payload.count))
                withBytes(message.responseTopic) { responseTopic in
                    withBytes(message.correlation) { correlation in
                        let message = InboundMessage(
                            topic: topic, payload: payload, retain: message.isRetained, qos: 1, responseTopic: responseTopic,
                            correlation: correlation)
                        if !adapt(message) { receiveHere(message) }
                    }
                }
            }
        }
    }

    private func withBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
        guard let bytes else { return body(nil) }
        bytes.withUnsafeBytes { body($0) }
    }

    // MARK: The service's status

    /// `online` while every dataset has an owner.
    func settleStatus() {
        guard let role, role.isReception, session.phase == .online, role.isComplete() != shardState.wasComplete else { return }
        publishStatus()
    }

    /// What was kept back while the lease was not renewed goes out when it is.
    func settleLease() {
        guard let role, role.isFresh() else { return }
        if role.isReception, let datasets = newKnown.withLock({ $0.take() }) { noteKnown(datasets) }
        guard shardState.keptBack, session.phase == .online else { return }
        shardState.keptBack = false
        core.doorClosed()
        core.doorOpened(holding: nil)
    }

    /// The names of all datasets, as the store has them. From any thread.
    public func note(datasets: Set<String>) {
        guard role?.isReception == true else { return }
        newKnown.withLock { $0 = datasets }
        wake()
    }
}
