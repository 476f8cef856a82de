import Glibc
import MQTTLink
import Wire

/// Moves devices of its own past a pin of its own, and takes the time until the daemon tells of it.
///
/// Each update carries its number, which its live message shows again. Every match of a device belongs to its oldest update in
/// range without one: the subscription's `matchTTL` is 0, and matches of one pair come in order.
final class Bench: Conversation {
    /// With the pin they fit into one request.
    static let devicesMax = 999

    private enum Phase {
        case making
        case moving
        case deleting
    }

    private let updateCount: Int
    private let rate: Double?
    private let window: Int
    private let name = "bench-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    private let devices: [String]
    private let topics: [String]
    private(set) var figures = BenchFigures()

    private var phase = Phase.making
    /// Requests without an answer, by id.
    private var asked: Set<String> = []
    private var steps: [Step] = []
    private var failure: CommandFailure?
    private var startedAt: Int64 = 0
    /// When each update went out, monotonic nanoseconds; 0 once its live message came.
    private var sentAt: [Int64] = []
    /// Of each device, when its updates in range went out that no match came for yet.
    private var inRange: [String: ArraySlice<Int64>]

    private struct Step {
        var resource, verb: String
        var parameters: JSONObject
    }

    private static let latitude = 10.0
    /// One update in so many is in range.
    private static let passing = 10
    /// Publishes in one turn of the loop, so that it also reads and writes.
    private static let burst = 256

    init(_ destination: Destination, updates: Int, devices: Int, rate: Double?, window: Int) {
        updateCount = updates
        self.rate = rate
        self.window = window
        self.devices = (0..<devices).map { [name] in "\(name)-\($0)" }
        topics = self.devices.map { destination.topics.update(device: $0, domain: "position") }
        inRange = Dictionary(uniqueKeysWithValues: self.devices.map { ($0, []) })
        super.init(destination)
    }

    // MARK: Requests

    override func connected() {
        subscribe(
            [
                destination.topics.reply, destination.topics.matches(device: name),
                destination.topics.live(destination.topics.dataset + "/-/-/-/-/+/position"),
            ], qos: 1)
    }

    override func subscribed() {
        startedAt = Self.nanoseconds()
        steps = [subscription, publications, pinAndDevices]
        makeNext()
    }

    private var pinAndDevices: Step {
        let location: JSONObject = ["latitude": .double(Self.latitude), "longitude": .double(Self.latitude)]
        let pin: JSONObject = ["deviceType": "PinDevice", "id": .string(name), "location": .object(location)]
        let items = devices.map { JSONValue.object(["deviceType": "MobileDevice", "id": .string($0)]) }
        return Step(resource: "device", verb: "create", parameters: ["items": .array([.object(pin)] + items)])
    }

    private var publications: Step {
        let items = devices.map { device in
            JSONValue.object([
                "id": .string(device), "deviceId": .string(device), "topic": .string(name), "range": 1, "duration": 86_400,
            ])
        }
        return Step(resource: "publication", verb: "create", parameters: ["items": .array(items)])
    }

    private var subscription: Step {
        Step(
            resource: "subscription", verb: "create",
            parameters: [
                "id": .string(name), "deviceId": .string(name), "topic": .string(name), "range": 100, "duration": 86_400,
                "matchTTL": 0,
            ])
    }

    private func makeNext() {
        guard let step = steps.popLast() else { return beginMoving() }
        ask(step)
    }

    private func ask(_ step: Step) {
        let id = "\(name)-\(step.verb)-\(asked.count)-\(steps.count)"
        var parameters = step.parameters
        parameters["requestId"] = .string(id)
        asked.insert(id)
        let result = link?.publish(
            topic: destination.topics.request(step.resource, step.verb), payload: JSONValue.object(parameters).serialised(),
            qos: 1)
        guard case .accepted? = result else { return end(.unavailable("a request could not be sent")) }
    }

    private func replied(_ reply: JSONObject) {
        guard let id = reply["requestId"]?.asString, asked.remove(id) != nil else { return }
        awaitMore()
        if phase == .deleting {
            if asked.isEmpty { finish() }
            return
        }
        if let error = reply.firstError {
            failure = .errorReply(ErrorText.of(.object(error)))
            return beginDeleting()
        }
        figures.objects += reply["result"]?.asObject?["items"]?.asArray?.count ?? 1
        makeNext()
    }

    // MARK: Movement

    private func beginMoving() {
        phase = .moving
        figures.objectSeconds = Double(Self.nanoseconds() - startedAt) / 1e9
        startedAt = Self.nanoseconds()
        sentAt.reserveCapacity(updateCount)
        awaitMore()
    }

    override func turn(now: Int64) -> Int64 {
        guard phase == .moving, let link, link.isConnected else { return .max }
        let time = Self.nanoseconds()
        var due = updateCount
        if let rate { due = min(due, Int(Double(time - startedAt) / 1e9 * rate) + 1) }
        let last = min(due, sentAt.count + Self.burst, figures.updates.count + window)
        while sentAt.count < last {
            guard publish(sentAt.count, on: link) else { return .max }
        }
        guard sentAt.count < updateCount else { return .max }
        // What is received opens the window; only a rate has to be waited for.
        guard sentAt.count < figures.updates.count + window else { return .max }
        return sentAt.count < due ? now : now + 1
    }

    /// - Returns: False where the connection takes no more.
    private func publish(_ number: Int, on link: MQTTLink) -> Bool {
        let device = number % devices.count
        let isInRange = number % Self.passing == 0
        // Never where it stood before.
        let step = Double(number % 800) * 1e-6
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("latitude")
        writer.double(Self.latitude + (isInRange ? 0 : 0.1) + step)
        writer.key("longitude")
        writer.double(Self.latitude)
        writer.key("n")
        writer.integer(Int64(number))
        writer.endObject()
        let time = Self.nanoseconds()
        switch link.publish(topic: topics[device], payload: writer.bytes) {
        case .accepted: break
        case .notConnected, .windowFull: return false
        case let result:
            end(.internal("a position could not be published: \(result)"))
            return false
        }
        sentAt.append(time)
        figures.updatesSent += 1
        awaitMore()
        guard isInRange else { return true }
        inRange[devices[device]]?.append(time)
        figures.matchesExpected += 1
        return true
    }

    override func received(_ message: InboundMessage) {
        guard !message.retain, !message.payload.isEmpty, case .object(let object)? = try? JSONValue.parse(message.payload) else {
            return
        }
        let time = Self.nanoseconds()
        if object["request"] != nil {
            replied(object)
        } else if let device = object["publication"]?.asObject?["deviceId"]?.asString {
            guard let sent = inRange[device]?.popFirst() else { return }
            figures.matches.add(time - sent)
            awaitMore()
        } else if let number = object["properties"]?.asObject?["n"]?.asInt64,
            object["itemId"]?.asString?.hasPrefix(name) == true, let number = Int(exactly: number),
            sentAt.indices.contains(number),
            sentAt[number] > 0
        {
            figures.updates.add(time - sentAt[number])
            figures.updateSeconds = Double(time - startedAt) / 1e9
            sentAt[number] = 0
            awaitMore()
        }
    }

    override func receivedAll() {
        guard phase == .moving, figures.updates.count == updateCount, figures.matches.count == figures.matchesExpected else {
            return
        }
        beginDeleting()
    }

    // MARK: The end

    /// What is made is deleted again, however it went.
    private func beginDeleting() {
        phase = .deleting
        asked.removeAll()
        steps.removeAll()
        awaitMore()
        for device in [name] + devices {
            ask(Step(resource: "device", verb: "delete", parameters: ["id": .string(device)]))
        }
    }

    private func finish() {
        if let failure { end(failure) } else { end() }
    }

    private func awaitMore() { deadline = Self.now() + Int64(destination.timeoutSeconds * 1000) }

    override func timedOut() {
        switch phase {
        case .making where asked.isEmpty: super.timedOut()
        case .making:
            failure = .unavailable("no reply within \(destination.timeoutText); `geomatch status` tells whether it is running")
            beginDeleting()
        // What did not come by now is missing.
        case .moving: beginDeleting()
        case .deleting: finish()
        }
    }

    override func interrupted() {
        failure = .unavailable("interrupted")
        if phase != .deleting { beginDeleting() }
    }

    /// Monotonic.
    private static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension JSONObject {
    /// The error of a reply, or of the first of its items that has one.
    fileprivate var firstError: JSONObject? {
        if let error = self["error"]?.asObject { return error }
        for item in self["result"]?.asObject?["items"]?.asArray ?? [] {
            if let error = item.asObject?["error"]?.asObject { return error }
        }
        return nil
    }
}
