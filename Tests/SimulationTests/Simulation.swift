@testable import DaemonCore
import Datasets
import Logging
import MemoryStore
import Records
import SeededRandom
import Wire

@testable import MQTTLink
@testable import MQTTDoor

/// The whole daemon logic on virtual time, network and disk.
///
/// Everything random comes from one seed. The daemon, its broker and its disk die, refuse, repeat and lose what the real ones may;
/// at the end all is healed, and ``verify()`` asks whether what clients saw is what ``NaiveTwin`` says.
final class Simulation {
    var random: SplitMix64
    private(set) var now: Int64 = 1_700_000_000_000
    let disk = SimulatedDisk()
    let broker = SimulatedBroker()
    let endpoint: SimulatedEndpoint
    private(set) var loop: MQTTDoor
    private(set) var link: SimulatedLink
    private var undecided = UndecidedTwin()
    var twin: NaiveTwin { undecided.twin }
    private(set) var crashes = 0
    private var lives: UInt64 = 1
    /// A hub that was restored while the daemon ran, and follows what that writes; what cannot be followed ends it.
    private var standby: Hub?
    /// How many lives began with one.
    private(set) var takeovers = 0
    private let clock = VirtualClock()
    /// Requests without a reply so far, by `requestId`, in the order they were first sent.
    private(set) var open: [(id: String, request: ClientRequest)] = []
    /// The first reply to each request.
    private(set) var replies: [String: String] = [:]
    private var repliesRead = 0
    private var liveRead = 0
    /// Where followers of the circle know devices in it.
    private(set) var followed: [String: Int64] = [:]
    /// Devices that were shown in the circle shortly before a crash undid that, and have not been reported since.
    private(set) var unsure: Set<String> = []
    private var lastRequest = 0
    private var lastObject = 0
    /// What was seen to be wrong while it ran.
    private(set) var faults: [String] = []
    private var lastRequestHanded: SimulatedBroker.Message?
    /// What happens, line by line, to read after a failure.
    var trace: ((String) -> Void)?

    static let devices = ["a", "b", "c", "d"]
    static let places = 0..<12
    /// The middle of the live subscription's circle, whose edge lies between two places.
    static let watchedPlace = 4
    static let watchedRadius = 60.0

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        endpoint = SimulatedEndpoint(disk: disk)
        (loop, link) = Self.start(disk, broker, endpoint, clock, life: lives, now: now)
        disk.refusalTaken = { [unowned self] in decide(refused: true) }
        disk.wrote = { [unowned self] in follow($0) }
    }

    // MARK: The process

    /// - Parameter standby: What takes over.
    private static func start(
        _ disk: SimulatedDisk, _ broker: SimulatedBroker, _ endpoint: SimulatedEndpoint, _ clock: VirtualClock, life: UInt64,
        now: Int64, standby: Hub? = nil
    ) -> (MQTTDoor, SimulatedLink) {
        clock.now = now
        var seeds = SplitMix64(seed: life)
        let topics = Topics(prefix: "")
        let hub = standby ?? restored(disk, now: now)
        hub.endRestoration(liveNumber: disk.durable.highestLiveNumber, matchNumber: disk.durable.highestMatchNumber)
        let core = Core(
            hub: hub, seed: (seeds.next(), seeds.next()), clock: clock.coreClock,
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }, health: Health())
        let door = MQTTDoor(
            MQTTDoor.Configuration(
                broker: "simulated", topics: topics, instance: "i", readsEveryDataset: true, inputQoS: 0,
                status: StatusMessage(version: "1", instance: "i", startedAt: now)),
            core: core, heldFilters: disk.filters)
        let link = SimulatedLink(broker: broker, disk: disk)
        door.link = link
        core.log = disk
        core.poster = endpoint
        door.mustAdopt = life > 1
        core.createDatasets(["d"])
        core.end()
        return (door, link)
    }

    private static func restored(_ disk: SimulatedDisk, now: Int64) -> Hub {
        var configuration = HubConfiguration()
        configuration.instance = "i"
        configuration.naming = Topics(prefix: "").naming
        let hub = Hub(configuration)
        for change in disk.durable.restored() {
            do { try hub.restore(change, at: now) } catch { preconditionFailure("\(error.message) at \(change)") }
        }
        return hub
    }

    func standBy() {
        trace?("\(now) standing by")
        standby = Self.restored(disk, now: now)
    }

    private func follow(_ changes: [DurableChange]) {
        guard let standby else { return }
        for change in changes {
            do {
                guard try !standby.follow(change, at: now) else { continue }
                return self.standby = nil
            } catch {
                preconditionFailure("\(error.message) at \(change)")
            }
        }
    }

    func crash() {
        crashes += 1
        trace?("\(now) crash")
        link.carryOut(random.below(4))
        link.disconnect(again: nil, publishesWill: true)
        endpoint.crash(&random)
        readLive()
        // What was not written is not known any more, nor who was shown it.
        for (device, place) in followed where durablePlace(of: device) != place { unsure.insert(device) }
        disk.restart()
        decide(refused: true)
        undecided.crash(at: now) { [disk] pair in
            disk.durable.hasPair(
                dataset: "d", subscriptionId: pair.subscription, publicationId: pair.publication)
        }
        lives += 1
        now += Int64(random.below(2000))
        if standby != nil { takeovers += 1 }
        (loop, link) = Self.start(disk, broker, endpoint, clock, life: lives, now: now, standby: standby)
        standby = nil
        resendOpenRequests()
    }

    func loseConnection() {
        guard link.isConnected else { return }
        trace?("\(now) connection lost")
        link.carryOut(random.below(4))
        link.disconnect(again: random.chance(50) ? lastRequestHanded : nil, publishesWill: true)
        loop.linkDisconnected(MQTTDisconnect(cause: .lost("simulated"), retryAfterSeconds: 1))
        turn()
    }

    func killBroker() {
        guard broker.isUp else { return }
        trace?("\(now) broker killed")
        broker.kill()
        loseConnection()
    }

    func reconnect() {
        if !broker.isUp {
            broker.restart(losesEverything: random.chance(20))
            resendOpenRequests()
        }
        guard !link.isConnected else { return }
        let status = loop.configuration.status.encode(isOnline: false)
        link.connect(will: .init(topic: "geomatch/status", payload: status, qos: 1, retain: true))
    }

    // MARK: The network

    /// Hands the daemon what came: up to so many packets, messages side by side as one batch with at most one request.
    func carryIn(_ count: Int) {
        var batch: [SimulatedBroker.Message] = []
        for _ in 0..<count {
            guard let event = link.next() else { break }
            if case .message(let message) = event {
                let isRequest = message.topic.hasPrefix("geomatch/")
                batch.append(message)
                if isRequest { hand(&batch) }
                continue
            }
            hand(&batch)
            if disk.hasCrashed { break }
            switch event {
            case .connected(let present): loop.linkConnected(sessionPresent: present, protocolVersion: 5)
            case .subscribed(let id, let granted): loop.linkSubscribed(id: id, granted: granted)
            case .unsubscribed(let id): loop.linkUnsubscribed(id: id)
            case .acknowledged(let number):
                if let token = link.confirm(number), token != 0 { loop.linkAcknowledged(token: token, reason: 0) }
            case .message: break
            }
            turn()
        }
        hand(&batch)
        readReplies()
    }

    private func hand(_ batch: inout [SimulatedBroker.Message]) {
        defer { batch = [] }
        guard !batch.isEmpty, !disk.hasCrashed else { return }
        var buffer = InboundBuffer()
        for message in batch {
            Array(message.topic.utf8).withUnsafeBytes { topic in
                message.payload.withUnsafeBytes { payload in
                    buffer.append(
                        topic: topic, payload: payload, qos: UInt8(message.qos), retain: message.retain, response: nil,
                        correlation: nil)
                }
            }
        }
        clock.now = now
        if let trace {
            for message in batch { trace("\(now) in \(message.topic) \(String(decoding: message.payload, as: UTF8.self))") }
        }
        let isWritable = disk.isWritable && loop.core.loading == nil
        let known = twin.met
        for message in batch { recount(message, isWritable: isWritable) }
        loop.linkReceived(buffer.batch(0..<batch.count))
        decide(refused: false)
        if let trace { trace("\(now) disk \(disk.isWritable ? "fine" : "refuses")\(disk.hasCrashed ? ", crashed" : "")") }
        if let trace, twin.met != known { trace("\(now) twin: met \(twin.met.subtracting(known))") }
        turn()
        if let request = batch.last, request.topic.hasPrefix("geomatch/d/"), !request.retain { lastRequestHanded = request }
    }

    /// One turn of the loop: what the disk has to say, what time brings.
    func turn() {
        clock.now = now
        guard !disk.hasCrashed else { return crash() }
        if disk.hasNews || endpoint.hasNews {
            decide(refused: false)
            loop.linkWoken()
        }
        if !disk.hasCrashed { _ = loop.linkTick(now: now) }
        if disk.hasCrashed { crash() }
        if let trace, let fault = disk.fault { trace("\(now) fault: \(fault)") }
    }

    func wait(_ milliseconds: Int64) {
        now += milliseconds
        turn()
    }

    // MARK: The clients

    func tellPosition(_ device: String, _ place: Int, timestamp: Int64) {
        let text =
            #"{"lat":\#(NaiveTwin.latitude(of: place)),"lon":\#(NaiveTwin.longitude),"timestamp":\#(timestamp),"place":\#(place)}"#
        broker.publish(.init(topic: "d/-/-/-/-/\(device)/position", payload: Array(text.utf8), qos: 0))
    }

    private func recount(_ message: SimulatedBroker.Message, isWritable: Bool) {
        guard !message.retain, let value = try? JSONValue.parse(message.payload), let object = value.asObject else { return }
        if message.topic.hasSuffix("/position") {
            let device = String(message.topic.split(separator: "/")[5])
            guard let place = object["place"]?.asInt64, let timestamp = object["timestamp"]?.asInt64 else { return }
            undecided.move(device, to: Int(place), timestamp: timestamp, at: now)
        } else if isWritable, message.topic.hasPrefix("geomatch/d/c/"), let id = object["requestId"]?.asString,
            let request = asked[id], !applied.contains(id), handed.insert(id).inserted
        {
            undecided.ask(id, request, at: now)
        }
    }

    /// What of the requests that were handed over became durable.
    ///
    /// - Parameter refused: The rest did not.
    private func decide(refused: Bool) {
        undecided.decide { id in
            guard id != UndecidedTwin.sure else { return nil }
            guard let reply = disk.durable.reply(dataset: "d", client: "c", requestId: id) else {
                return refused || !handed.contains(id) ? false : nil
            }
            applied.insert(id)
            return (try? JSONValue.parse(reply))?.asObject?["result"] != nil
        }
        handed = refused ? [] : handed.subtracting(applied)
    }

    /// Undecided.
    private var handed: Set<String> = []
    private var applied: Set<String> = []
    /// Also those answered: a copy of them may still be on its way.
    private var asked: [String: ClientRequest] = [:]

    func ask(_ request: ClientRequest) {
        lastRequest += 1
        open.append(("r\(lastRequest)", request))
        asked["r\(lastRequest)"] = request
        send(open[open.count - 1])
    }

    private func send(_ entry: (id: String, request: ClientRequest)) {
        let text = #"{"requestId":"\#(entry.id)",\#(entry.request.parameters)}"#
        broker.publish(
            .init(topic: "geomatch/d/c/request/\(entry.request.verb)", payload: Array(text.utf8), qos: 1))
    }

    /// Nobody knows what became of them: they are asked again under the same name.
    func resendOpenRequests() { for entry in open { send(entry) } }

    func nextObject() -> Int {
        lastObject += 1
        return lastObject
    }

    /// What the follower of the circle learned since.
    func readLive() {
        for message in broker.seen[liveRead...] where message.topic == "geomatch/d/c/live/l" {
            guard let update = (try? JSONValue.parse(message.payload))?.asObject, let device = update["itemId"]?.asString else {
                faults.append("no live update: \(String(decoding: message.payload, as: UTF8.self))")
                continue
            }
            followed[device] = update["left"] == true ? nil : update["properties"]?.asObject?["place"]?.asInt64
            unsure.remove(device)
        }
        liveRead = broker.seen.count
    }

    private func durablePlace(of device: String) -> Int64? {
        let payload = disk.durable.liveState("d/-/-/-/-/\(device)/position")?.payload
        return payload.flatMap { (try? JSONValue.parse($0))?.asObject?["properties"]?.asObject?["place"]?.asInt64 }
    }

    private func readReplies() {
        readLive()
        let news = broker.seen[repliesRead...]
        if let trace {
            for message in news {
                trace("\(now) seen \(message.topic) \(String(decoding: message.payload.prefix(150), as: UTF8.self))")
            }
        }
        repliesRead = broker.seen.count
        for message in news where message.topic == "geomatch/d/c/reply" {
            guard let reply = (try? JSONValue.parse(message.payload))?.asObject, let id = reply["requestId"]?.asString else {
                faults.append("a reply without its requestId")
                continue
            }
            let text = String(decoding: message.payload, as: UTF8.self)
            if reply["error"]?.asObject?["error"]?.asString == "internal" {
                // The store refused it, and so nothing of it happened: asked again under its name.
                if let entry = open.first(where: { $0.id == id }) { send(entry) }
                continue
            }
            if let first = replies[id], first != text { faults.append("two replies to \(id): \(first) and \(text)") }
            replies[id] = text
            open.removeAll { $0.id == id }
        }
        // What was asked while no session stood may have met nobody.
        let online = Array(#""state":"online""#.utf8)
        if news.contains(where: { $0.topic == "geomatch/status" && $0.payload.contains(online) }) { resendOpenRequests() }
    }
}

/// The time the daemon is given; single-threaded like everything here.
final class VirtualClock: @unchecked Sendable {
    var now: Int64 = 0
    var coreClock: CoreClock { CoreClock(now: { self.now }, monotonic: { self.now }) }
}
