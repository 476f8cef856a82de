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
    /// What the store had some seconds ago, and when that was asked for.
    var lastView: Set<String> = []
    var lastViewAt: Int64 = 0
    /// Of which datasets notices came, and when: what was asked of the store before says nothing of them.
    var noticed: [String: Int64] = [:]
    /// Datasets of this shard whose requests come to its session.
    var opened: Set<String> = []
    /// Those that are to be opened, or closed, when the notice of it comes back.
    var opening: Set<String> = []
    var closing: Set<String> = []
    /// Requests in datasets that nobody has, as far as the reception knows: the store is asked.
    var undecided = KeptMessages()
    /// Datasets that something may create which was passed on: all that comes in them is, up to these instants or their notices.
    var created: [String: Int64] = [:]
    /// When those were last looked for whose time is over.
    var createdFilteredAt: Int64 = 0
    /// Datasets whose notice came back: what the reception passed on before is handled before what comes here, or up to these instants.
    var begun: [String: Int64] = [:]
    /// Those of which the reception has said that nothing more is passed on.
    var passedOn: Set<String> = []
    /// What came in those that have begun.
    var keptBack = KeptMessages()
    /// What the last status said.
    var wasComplete: Bool?
    /// Notifications were kept back while the lease was not renewed.
    var isOwing = false
}

/// Messages that are handled later, in order.
struct KeptMessages {
    struct Kept {
        var dataset: String
        var message: RoutedMessage
        /// When it came, by the clock of the leases.
        var since: Int64
    }

    private(set) var all: [Kept] = []
    /// Of the payloads of all that were put there since it was empty.
    private var bytes = 0

    private static let countMax = 10_000
    private static let bytesMax = 64 << 20

    /// - Returns: Whether there was room.
    mutating func keep(_ message: RoutedMessage, of dataset: String, since: Int64 = 0) -> Bool {
        guard all.count < Self.countMax, bytes < Self.bytesMax else { return false }
        all.append(Kept(dataset: dataset, message: message, since: since))
        bytes += message.payload.count
        return true
    }

    /// Takes out those that are to be handled now.
    mutating func take(where isDue: (Kept) -> Bool) -> [Kept] {
        let due = all.filter(isDue)
        all.removeAll(where: isDue)
        if all.isEmpty { bytes = 0 }
        return due
    }
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
        return shardState.opened.union(shardState.closing).union(shardState.begun.keys).union(durableDatasets).sorted()
    }

    /// Of these the reception hears: what the store says of datasets later than that holds.
    private var durableDatasets: Set<String> { Set(core.hub.datasetNames.filter(core.hub.isDurable)) }

    /// The session is open: the reception learns what it has.
    func openDatasets() {
        guard let role, !role.isReception else { return }
        endKeeping { _ in true }
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
            begin(names("held"))
            shardState.opening.subtract(names("held"))
            for dataset in names("free") where shardState.closing.remove(dataset) != nil { shardState.opened.remove(dataset) }
            shardState.passedOn.subtract(names("free"))
            // One that came again meanwhile is opened anew.
            datasetsChanged()
            if shardState.opening.isEmpty { publishUnsent() }
        }
        if role.isReception {
            for dataset in names("held") { endPassingOn(dataset) }
            shardState.known.formUnion(names("held"))
            shardState.known.subtract(names("free"))
            let now = role.askStore()
            for dataset in names("held") + names("free") { shardState.noticed[dataset] = now }
            // They came while the dataset was there: the session of its shard has answered them.
            let free = Set(names("free"))
            _ = shardState.undecided.take { free.contains($0.dataset) }
        }
    }

    // MARK: A dataset begins

    // Up to the notice of a new dataset the reception passes on what comes in it, behind it the session of its shard reads that: what was
    // passed on may still be on its way then, and comes first. A mark behind it says that it was all.

    /// The notice of new datasets came back.
    private func begin(_ datasets: [String]) {
        // The next owner has what comes.
        guard !isEnding else { return shardState.opened.formUnion(datasets) }
        for dataset in datasets where !shardState.opened.contains(dataset) {
            shardState.begun[dataset] = core.clock.monotonic() + Self.beginMilliseconds
        }
        endKeeping(where: shardState.passedOn.contains)
    }

    /// A reception that is gone says nothing more.
    private static let beginMilliseconds: Int64 = 1000

    /// Whether a message waits for what was passed on before it.
    func keepsBack(_ message: InboundMessage, of dataset: String) -> Bool {
        guard shardState.begun[dataset] != nil else { return false }
        if shardState.keptBack.keep(RoutedMessage(message, of: dataset), of: dataset) { return true }
        endKeeping { _ in true }
        return false
    }

    /// What was passed on in some datasets has come: what came here since follows.
    func endKeeping(where isDue: (String) -> Bool) {
        let due = shardState.begun.keys.filter(isDue)
        guard !due.isEmpty else { return }
        for dataset in due { shardState.begun[dataset] = nil }
        shardState.opened.formUnion(due)
        shardState.passedOn.subtract(due)
        handle(shardState.keptBack.take { due.contains($0.dataset) })
        // Some may be gone by now.
        datasetsChanged()
    }

    /// The reception heard of a dataset: what came before is passed on with all that was, and the mark behind it.
    private func endPassingOn(_ dataset: String) {
        let waiting = shardState.undecided.take { $0.dataset == dataset }
        let isNew = shardState.created.removeValue(forKey: dataset) != nil || !shardState.known.contains(dataset)
        for kept in waiting { role?.route(kept.message) }
        if isNew { role?.route(.endOfPassedOn(dataset)) }
    }

    func handle(_ messages: [KeptMessages.Kept]) {
        guard !messages.isEmpty else { return }
        core.begin()
        for kept in messages { take(kept.message) }
        core.end()
    }

    /// Replies wait until requests in the datasets that they are about come here.
    var holdsReplies: Bool { role != nil && !shardState.opening.isEmpty }

    /// The reception learns what there is, from the store. From the core's thread.
    private func noteKnown(_ datasets: Set<String>, askedAt instant: Int64) {
        shardState.noticed = shardState.noticed.filter { $0.value >= instant }
        // A notice is on its way of what the store had at one of two instants only.
        let (both, either) = (datasets.intersection(shardState.lastView), datasets.union(shardState.lastView))
        let noticed = Set(shardState.noticed.keys)
        shardState.known.formUnion(both.subtracting(noticed))
        shardState.known.formIntersection(either.union(noticed))
        guard instant >= shardState.lastViewAt + Self.noticeMilliseconds else { return }
        (shardState.lastView, shardState.lastViewAt) = (datasets, instant)
    }

    /// A notice has come by then.
    private static let noticeMilliseconds: Int64 = 2000

    // MARK: Whose a message is

    enum Reading {
        case here, elsewhere
        /// Nobody has the dataset: it is answered here, or passed on where it may create the dataset.
        case unknown
    }

    /// Whether something in a dataset is for this session.
    func reading(of dataset: String) -> Reading {
        guard let role else { return .here }
        if role.serves(dataset) {
            let isRead = role.isReception || shardState.opened.contains(dataset) || shardState.begun[dataset] != nil
            return isRead ? .here : .elsewhere
        }
        guard role.isReception, isBeingCreated(dataset) || !shardState.known.contains(dataset) else { return .elsewhere }
        return .unknown
    }

    private func isBeingCreated(_ dataset: String) -> Bool {
        guard let until = shardState.created[dataset] else { return false }
        if core.clock.monotonic() >= until { shardState.created[dataset] = nil }
        return shardState.created[dataset] != nil
    }

    /// Whether something in a dataset that nobody has is passed on to who would have it: what may create it, and what comes behind that.
    func passesOn(unknown dataset: String, creating: Bool) -> Bool {
        guard creating, Name.isDataset(dataset) else { return isBeingCreated(dataset) }
        let now = core.clock.monotonic()
        if shardState.created.count >= Self.createdMax, now >= shardState.createdFilteredAt + 1000 {
            shardState.created = shardState.created.filter { now < $0.value }
            shardState.createdFilteredAt = now
        }
        if shardState.created.count < Self.createdMax { shardState.created[dataset] = now + Self.createdMilliseconds }
        return true
    }

    private static let createdMax = 10_000
    /// What was refused creates nothing: its owner answers in its place for so long.
    private static let createdMilliseconds: Int64 = 30_000

    func route(_ message: InboundMessage, of dataset: String) { role?.route(marked(RoutedMessage(message, of: dataset))) }

    /// Has a request in a dataset that nobody has wait for what the store says: it may have been made over HTTP just now. Where what the
    /// broker held for the reception is being read, the notice that the dataset is deleted may come behind it.
    func postpones(_ message: InboundMessage, of dataset: String) -> Bool {
        guard let role, session.phase != .away, session.phase != .refused else { return false }
        let since = session.phase == .online ? role.askStore() : .max
        return shardState.undecided.keep(RoutedMessage(message, of: dataset), of: dataset, since: since)
    }

    /// The session is online: the store is asked about what waited for notices that have not come, but for what may create its dataset.
    func reviewUndecided() {
        guard let role, role.isReception else { return }
        let now = role.askStore()
        for kept in shardState.undecided.take(where: { _ in true }) {
            guard case .request(_, _, let name) = kept.message.topic.withUnsafeBytes({ topics.read($0) }) else { continue }
            if passesOn(unknown: kept.dataset, creating: creates(kept.dataset, name)) {
                role.route(kept.message)
            } else {
                _ = shardState.undecided.keep(kept.message, of: kept.dataset, since: now)
            }
        }
    }

    /// Passes on all that waits, as the door ends: who would have the dataset answers.
    func passOnUndecided() {
        for kept in shardState.undecided.take(where: { _ in true }) { role?.route(kept.message) }
    }

    /// Answers what came before the store was asked, or passes it on to who has the dataset.
    func decideUndecided(_ datasets: Set<String>, askedAt instant: Int64) {
        let due = shardState.undecided.take { $0.since <= instant }
        for kept in due where datasets.contains(kept.dataset) { role?.route(kept.message) }
        handle(due.filter { !datasets.contains($0.dataset) })
    }

    /// Whether a request may create its dataset.
    func creates(_ dataset: String, _ request: String) -> Bool {
        guard Name.isDataset(dataset) else { return false }
        return request == "dataset/create"
            || role?.createsDatasets == true && RequestTable.row(of: request)?.createsDataset == true
    }

    /// Takes in what the reception or the former owner passed on. From any thread.
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
        noteCame(messages)
        core.end()
    }

    func take(_ message: RoutedMessage) {
        if let dataset = message.endedDataset {
            if !shardState.opened.contains(dataset) { shardState.passedOn.insert(dataset) }
            return endKeeping { $0 == dataset }
        }
        let padded = message.payload + [UInt8](repeating: 0, count: 64)
        message.topic.withUnsafeBytes { topic in
            padded.withUnsafeBytes { payload in
                let payload = UnsafeRawBufferPointer(rebasing: payload.prefix(message.payload.count))
                withBytes(message.responseTopic) { responseTopic in
                    withBytes(message.correlation) { correlation in
                        let message = InboundMessage(
                            topic: topic, payload: payload, retain: message.isRetained, qos: 1, responseTopic: responseTopic,
                            correlation: correlation)
                        if !adapt(message, isPassedOn: true) { receiveHere(message) }
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
        if role.isReception, let (datasets, askedAt) = newKnown.withLock({ $0.take() }) {
            noteKnown(datasets, askedAt: askedAt)
            decideUndecided(datasets, askedAt: askedAt)
        }
        let now = core.clock.monotonic()
        if !shardState.begun.isEmpty { endKeeping { now >= shardState.begun[$0] ?? 0 } }
        guard shardState.isOwing, session.phase == .online else { return }
        shardState.isOwing = false
        core.doorClosed()
        core.doorOpened(holding: nil)
    }

    /// The names of all datasets, as the store had them when it was asked. From any thread.
    public func note(datasets: Set<String>, askedAt instant: Int64) {
        guard role?.isReception == true else { return }
        newKnown.withLock { $0 = (datasets, instant) }
        wake()
    }
}
