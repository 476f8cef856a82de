import GeomatchClient
import MQTTLink
import Wire

/// An update of a domain of its own, which the daemon takes in and publishes as live state; it is cleared again.
///
/// Requests take other topics than live data: an access list may let through the ones and not the others, and nobody is notified.
struct LiveProbe {
    private let configuration: GeomatchConfiguration
    /// Below the location that is the client's own, which the narrowest rules allow.
    private let topic: String
    private let mark = WallClock.now()

    private static let tries = 30

    init(_ configuration: GeomatchConfiguration) {
        self.configuration = configuration
        topic = "\(configuration.dataset)/-/-/-/-/\(configuration.client)/doctor"
    }

    /// - Parameter dataset: As `dataset/get` shows it.
    func finding(_ client: GeomatchClient, dataset: JSONValue?) async -> Finding {
        let lists = dataset?.member("domains")?.asArray?.isEmpty == false
        guard dataset?.member("policy")?.asString != "strict", !lists else {
            return Finding("live data", "not tried: the dataset takes what it lists only")
        }
        let published = configuration.topics.prefix + topic
        do throws(GeomatchError) {
            let payload = JSONValue.object(["mark": .integer(mark)]).serialised()
            try await client.publish(topic: published, payload: payload, qos: 1, retain: false)
        } catch {
            return Finding("live data", "not tried: this login may not publish on \(topic)")
        }
        let finding = await outcome(client)
        try? await client.publish(topic: published, payload: [], qos: 1, retain: false)
        return finding
    }

    private func outcome(_ client: GeomatchClient) async -> Finding {
        switch await isTaken(client) {
        case nil: return Finding("live data", "not checked: this client may not read it")
        case false?:
            return Finding(
                "live data", "an update on \(topic) does not reach the daemon",
                advice:
                    "the broker's access list must let the daemon read \(configuration.dataset)/#: geomatchd --print-acl prints what it must allow; or it was refused: geomatch watch diagnostics"
            )
        case true?: break
        }
        let reading = LiveReading(configuration.topics.state(topic))
        guard (try? await client.run(reading)) != nil else {
            return Finding("live data", "an update on \(topic) reaches the daemon; this login may not read live/#")
        }
        guard reading.hasCome else {
            return Finding(
                "live data", "an update on \(topic) reaches the daemon, and is not on live/\(topic)",
                advice:
                    "the broker's access list must let the daemon publish live/# and this login read it: geomatchd --print-acl prints what it must allow"
            )
        }
        return Finding("live data", "an update on \(topic) came back on live/…")
    }

    /// Whether the daemon has the update; nil where it does not say.
    private func isTaken(_ client: GeomatchClient) async -> Bool? {
        for _ in 0..<Self.tries {
            guard let reply = try? await client.reply(to: "live/snapshot", ["criteria": .string(topic)]),
                let updates = reply["result"]?.member("updates")?.asArray
            else { return nil }
            if updates.contains(where: { $0.member("properties")?.member("mark")?.asInt64 == mark }) { return true }
            try? await Task.sleep(for: .milliseconds(100))
        }
        return false
    }
}

/// Whether a topic has a retained message.
///
/// Guarded by the connection's lock until it is done.
private final class LiveReading: ConnectionWorker, @unchecked Sendable {
    let filters: [String]
    private(set) var hasCome = false
    private var endsAt = Int64.max

    private static let patience: Int64 = 2000

    init(_ topic: String) { filters = [topic] }

    func connected() { endsAt = WallClock.now() + Self.patience }
    func received(_ message: InboundMessage) { hasCome = true }
    func turn(_ link: WorkerLink, now: Int64) -> Int64? { hasCome || now >= endsAt ? nil : endsAt }
}
