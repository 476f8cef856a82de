import Datasets
import LiveTopics
import Wire

/// A live update on its way to the core.
struct LiveArrival: Sendable {
    /// The seven levels, encoded.
    var topic: String
    /// Empty: the state is cleared.
    var payload: [UInt8]
}

/// Updates that came together, and what became of them so far.
struct LiveBatch: Sendable {
    var dataset: String
    var client: String
    var arrivals: [LiveArrival]
    /// The device that they are of: a caller that may have and move it may publish them; nil: their topics decide.
    var device: String?
    var answers: [UpdateAnswer] = []
    var until: Int64
    /// Called when all of it is answered; nil: the daemon ends, or the dataset did not go on in time.
    var done: @Sendable ([UpdateAnswer]?) -> Void
}

extension HTTPDoor {
    /// Hands updates over and waits to hear what became of them, in order.
    ///
    /// - Parameter device: See ``LiveBatch/device``.
    func update(
        _ dataset: String, by client: String, _ arrivals: [LiveArrival], of device: String? = nil
    ) async -> [UpdateAnswer]? {
        await withCheckedContinuation { continuation in
            let isTaken = submit { door in
                door.proceed(
                    LiveBatch(
                        dataset: dataset, client: client, arrivals: arrivals, device: device, until: door.suspensionEnd,
                        done: { continuation.resume(returning: $0) }))
            }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    /// An update that came on a socket; what became of it goes there.
    func receive(_ arrival: LiveArrival, requestId: String?, on stream: EventStream) {
        guard !stream.isEnded else { return }
        proceed(
            LiveBatch(
                dataset: stream.dataset, client: stream.client, arrivals: [arrival], until: suspensionEnd,
                done: { answers in
                    let bytes = (answers?.first ?? .suspended).reply(to: requestId)
                    stream.append(.reply(Reply(bytes: bytes, queue: 0)))
                }))
    }

    private var suspensionEnd: Int64 { core.clock.monotonic() + Self.suspensionMilliseconds }

    /// So long updates wait for a dataset that takes nothing in.
    private static let suspensionMilliseconds: Int64 = 10_000
    /// So many are handled before others have their turn.
    private static let portion = 200

    /// Handles some of a batch; the rest comes behind what else came in, or when its dataset goes on.
    func proceed(_ batch: LiveBatch) {
        if isOver { return batch.done(nil) }
        var batch = batch
        for _ in 0..<Self.portion {
            guard batch.answers.count < batch.arrivals.count else {
                let answered = batch
                return answer { answered.done(answered.answers) }
            }
            let answer = receiveNext(of: batch)
            if answer == .suspended { return suspend(batch) }
            batch.answers.append(answer)
        }
        let rest = batch
        guard submit({ $0.proceed(rest) }) else { return rest.done(nil) }
    }

    private func receiveNext(of batch: LiveBatch) -> UpdateAnswer {
        let arrival = batch.arrivals[batch.answers.count]
        do throws(WireError) {
            if let device = batch.device {
                let summary = try core.hub.summary(
                    ofDevice: device, of: batch.dataset, for: batch.client, moves: true, at: core.clock.now())
                guard summary != nil else { return .suspended }
            } else {
                try checkWriter(batch.client, of: arrival.topic, in: batch.dataset)
            }
        } catch {
            return .refused(error)
        }
        return Array(arrival.topic.utf8).withUnsafeBytes { topic in
            arrival.payload.withUnsafeBytes { payload in
                core.receiveAnswered(IncomingUpdate(topic: topic, payload: payload), of: batch.dataset)
            }
        }
    }

    /// What a broker's access list checks over MQTT.
    private func checkWriter(_ client: String, of topic: String, in dataset: String) throws(WireError) {
        guard Name.isClient(client) else {
            throw WireError(.unauthorized, "`\(client.prefix(80))` can be no client: 1 to 64 of A-Z a-z 0-9 . _ -")
        }
        guard core.hub.configuration.mayName(dataset, client) else {
            throw WireError(.unauthorized, "`\(client)` may not name the dataset `\(dataset.prefix(80))`")
        }
        let levels = topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let first = levels.first, LevelCoding.decode(first) == dataset else {
            throw WireError(
                .invalid, "the topic's first level must be `\(dataset.prefix(80))`, the dataset of the path", field: "topic")
        }
        switch configuration.writes(dataset, client) {
        case .all: return
        case .own where levels.count == 7 && LevelCoding.decode(levels[5]) == client: return
        case .own:
            throw WireError(
                .unauthorized, "`\(client)` may publish topics with `\(client)` as their location only", field: "location")
        case .none: throw WireError(.unauthorized, "`\(client)` may not publish live data of `\(dataset.prefix(80))`")
        }
    }
}

extension UpdateAnswer {
    /// `{"topic","timestamp","late"?,"skewed"?}`, or the error as an object in `error`.
    func encode(into writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .known(let topic, let timestamp, let isLate, let isSkewed):
            writer.member("topic", topic)
            writer.member("timestamp", timestamp)
            if isLate { writer.member("late", true) }
            if isSkewed { writer.member("skewed", true) }
        case .refused(let error):
            writer.key("error")
            error.encode(into: &writer)
        case .suspended: break
        }
        writer.endObject()
    }

    /// `{"requestId"?,"result"}` or `{"requestId"?,"error"}`
    func reply(to requestId: String?) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("requestId", optional: requestId)
            switch self {
            case .known:
                writer.key("result")
                encode(into: &writer)
            case .refused(let error):
                writer.key("error")
                error.encode(into: &writer)
            case .suspended:
                writer.key("error")
                WireError(.internal, "the dataset takes nothing in at present: send it again").encode(into: &writer)
            }
        }
    }
}
