import Logging
import MQTTLink
import Wire

// Other daemons at the same broker: two of them answer each request twice, and on a copy of one data directory they put each
// other out.

extension MQTTDoor {
    /// Reads a `geomatch/status`.
    func noteStatus(_ message: InboundMessage) {
        guard let seen = SeenStatus(message.payload),
            seen.instance != configuration.instance || seen.startedAt != configuration.status.startedAt
        else { return }
        if seen.instance == configuration.instance {
            if role != nil {
                // The last will of the node that had this session before comes behind our own word.
                if !seen.isOnline, !message.retain, session.phase == .online { publishStatus() }
                return
            }
            noteCopy(seen, isRetained: message.retain)
        } else if seen.isOnline, !message.retain {
            let other =
                "another geomatchd is online at this broker, instance \(seen.instance), and this one, instance \(configuration.instance)"
            name(other + ": both answer every request")
            if giveWay(to: seen, other), beganSession {
                // The session would hold requests that the other one carries out, for whenever this one starts again.
                link?.endSession()
                session.held = []
                core.keep(.putFilters(broker: configuration.broker, []))
            }
        } else if !seen.isOnline, otherDaemon?.contains("instance \(seen.instance),") == true {
            core.logger.notice("the other geomatchd is offline", metadata: ["instance": "\(seen.instance)"])
            otherDaemon = nil
            publishStatus()
        }
    }

    /// Reads a status with our own name, of another start.
    private func noteCopy(_ seen: SeenStatus, isRetained: Bool) {
        // Before we were online it is our own former life; so it is where a broker that was ended before it wrote ours down gives
        // us what it retained. A copy that came later meets only what the first one retained, as each connection of the one ends
        // that of the other: a former life cannot have named this one.
        let (own, isEarlier) = (configuration.status.startedAt, seen.startedAt < configuration.status.startedAt)
        guard onlineAt != nil, !(isRetained && isEarlier) || seen.error.contains("instance \(seen.instance) started at \(own),")
        else { return }
        let copy =
            "another geomatchd runs on a copy of this data directory, instance \(seen.instance) started at \(seen.startedAt), and this one started at \(own): each ends the other's connection"
        if !seen.isOnline, otherDaemon == copy { return forgetOther() }
        copyMetAt = core.clock.monotonic()
        name(copy)
        giveWay(to: seen, copy)
    }

    /// A copy that was put out cannot say that it ended: it would end our connection again if it went on.
    func forgetCopy() {
        guard let met = copyMetAt, session.phase == .online, core.clock.monotonic() - met >= Self.copyMilliseconds else { return }
        forgetOther()
    }

    private func forgetOther() {
        core.logger.notice("the other geomatchd is offline", metadata: ["instance": "\(configuration.instance)"])
        (otherDaemon, copyMetAt) = (nil, nil)
        if session.phase == .online { publishStatus() }
    }

    private static let copyMilliseconds: Int64 = 10_000

    /// Of two daemons the one that came later ends, while it has just come: later on a message of anybody ends nothing.
    ///
    /// - Returns: Whether it ends.
    @discardableResult
    private func giveWay(to seen: SeenStatus, _ other: String) -> Bool {
        let own = (configuration.status.startedAt, configuration.instance)
        guard configuration.yields, (seen.startedAt, seen.instance) < own, let onlineAt,
            core.clock.monotonic() - onlineAt < Self.yieldingMilliseconds
        else { return false }
        core.health.end(.refused(other + ": the other was there before"))
        stop()
        return true
    }

    private static let yieldingMilliseconds: Int64 = 30_000

    private func name(_ other: String) {
        guard otherDaemon != other else { return }
        otherDaemon = other
        core.logger.error("\(other)", metadata: ["broker": "\(configuration.broker)"])
        if session.phase == .online { publishStatus() }
    }

    /// Reports that the daemon is online, and which other daemon it met.
    func publishStatus() {
        if let role {
            guard role.isReception else { return }
            shardState.wasComplete = role.isComplete()
        }
        let isOnline = shardState.wasComplete ?? true
        publish(configuration.status.encode(isOnline: isOnline, error: otherDaemon), on: topics.status, qos: 1, retain: true)
    }
}

/// The part of a `geomatch/status` that says which daemon it is of.
private struct SeenStatus {
    var instance: String
    var startedAt: Int64
    var isOnline: Bool
    var error: String

    init?(_ payload: UnsafeRawBufferPointer) {
        guard let message = try? JSONValue.parse(String(decoding: payload, as: UTF8.self)),
            let instance = message.asObject?["instance"]?.asString, instance.utf8.count <= 64,
            let startedAt = message.asObject?["startedAt"]?.asInt64
        else { return nil }
        self.instance = instance
        self.startedAt = startedAt
        isOnline = message.asObject?["state"]?.asString == "online"
        error = message.asObject?["error"]?.asString ?? ""
    }
}
