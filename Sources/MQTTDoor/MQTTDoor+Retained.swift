import Datasets
import MQTTLink

// What the broker retains: it may come back with old messages, or none.

extension MQTTDoor {
    /// Makes the retained messages right again, paced, and then marks how far they are.
    ///
    /// - Returns: When to go on.
    func settleBroker(at now: Int64) -> Int64 {
        guard session.phase == .online, let link else { return .max }
        // A clock that was set back must not stop it.
        nextResyncAt = min(nextResyncAt, now + 10)
        nextMarkAt = min(nextMarkAt, now + 1000)
        if !core.hub.isSettled {
            guard now >= nextResyncAt else { return nextResyncAt }
            nextResyncAt = now + 10
            if link.queuedMessages < 500 {
                core.continueResync(count: 100)
            }
            return nextResyncAt
        }
        // With `live.qos: 1` what waits for an acknowledgement may not have come.
        guard core.hub.liveNumber != publishedMark, link.unacknowledged == 0 else { return .max }
        guard now >= nextMarkAt else { return nextMarkAt }
        nextMarkAt = now + 1000
        publishedMark = core.hub.liveNumber
        // Never repeated by the library after a lost connection, as QoS 1 would be: the messages it covers are not either.
        publish(Array(String(publishedMark).utf8), on: topics.mark(sessionName), qos: 0, retain: true)
        return .max
    }

    func forgetMark() { publishedMark = -1 }
}
