import DaemonCore
import Datasets
import DequeModule
import Logging
import MQTTLink

// What goes to the broker, and what becomes of it where the broker is not there.

extension MQTTDoor {
    private static let unsentMaximum = 10_000
    private static let unsentBytesMaximum = 64 << 20

    public func send(_ batch: OutputBatch) {
        guard !batch.isEmpty else { return }
        batch.bytes.withUnsafeBytes { bytes in
            for item in batch.items {
                if case .audience(let audience, _) = item.kind, !audience.isAssured, core.isKept(audience, from: number) {
                    continue
                }
                item.forEachReceiver { send($0, bytes) }
            }
        }
    }

    private func send(_ item: Output, _ bytes: UnsafeRawBufferPointer) {
        if case .notification(let notification) = item.kind, notification.isAssured, !mayNotify {
            shardState.isOwing = true
            return core.returned(notification.token)
        }
        if case .notification(let notification) = item.kind, core.isKept(notification, from: number) {
            if notification.isAssured { core.delivered(notification.token, refusal: nil) }
            return
        }
        if case .liveState = item.kind {
            discover(UnsafeRawBufferPointer(rebasing: bytes[item.name]), isKnown: !item.payload.isEmpty)
        }
        topic.removeAll(keepingCapacity: true)
        guard let sending = topics.spell(item, bytes, liveQoS: configuration.liveQoS, door: number, into: &topic) else { return }
        topic.append(0)
        let payload = UnsafeRawBufferPointer(rebasing: bytes[item.payload])
        var token = sending.token
        if case .reply(let answer) = item.kind { token = pendingReplies.add(queue: answer.queue, bytes: payload.count) }
        if let correlation = sending.correlation {
            correlation.withUnsafeBytes {
                publish(payload, qos: sending.qos, retain: sending.retain, token: token, correlation: $0)
            }
        } else {
            publish(payload, qos: sending.qos, retain: sending.retain, token: token)
        }
    }

    /// Publishes on the topic in the scratch, which has a NUL behind it.
    private func publish(
        _ payload: UnsafeRawBufferPointer, qos: Int32, retain: Bool, token: UInt64 = 0,
        correlation: UnsafeRawBufferPointer? = nil
    ) {
        if holdsReplies, PendingReplies.isToken(token) {
            return keep(payload, qos: qos, retain: retain, token: token, correlation)
        }
        let result = topic.withUnsafeBytes { name -> MQTTPublishResult? in
            guard let base = name.baseAddress else { return nil }
            return link?.publish(
                OutgoingMessage(
                    topic: base.assumingMemoryBound(to: CChar.self), payload: payload, qos: qos, retain: retain, token: token,
                    correlation: correlation))
        }
        switch result {
        case .accepted: break
        case nil: pendingReplies.remove(token)
        case .notConnected, .windowFull, .failed: keep(payload, qos: qos, retain: retain, token: token, correlation)
        case .tooLarge, .invalidTopic:
            if PendingReplies.isToken(token) {
                pendingReplies.remove(token)
            } else if token != 0 {
                // MQTT 5 reasons: packet too large, topic name invalid.
                core.delivered(token, refusal: Self.refusal(result == .tooLarge ? 0x95 : 0x90))
            }
            core.logger.error("message cannot be published", metadata: ["reason": "\(result.map { "\($0)" } ?? "")"])
        }
    }

    /// What is retained is reported anew at the next connection, notifications by the core; a reply is sent once.
    private func keep(
        _ payload: UnsafeRawBufferPointer, qos: Int32, retain: Bool, token: UInt64, _ correlation: UnsafeRawBufferPointer?
    ) {
        if token != 0, !PendingReplies.isToken(token) { return core.returned(token) }
        guard qos > 0, !retain else { return }
        unsent.append(
            UnsentMessage(
                topic: topic, payload: Array(payload), qos: qos, correlation: correlation.map { Array($0) }, token: token))
        unsentBytes += payload.count
        guard unsent.count > Self.unsentMaximum || unsentBytes > Self.unsentBytesMaximum else { return }
        let dropped = unsent.removeFirst()
        unsentBytes -= dropped.payload.count
        pendingReplies.remove(dropped.token)
        // Of a run of them the first is enough.
        guard !dropsReplies else { return }
        dropsReplies = true
        core.logger.warning(
            "replies are dropped: too many wait for the broker",
            metadata: ["count": .stringConvertible(unsent.count), "bytes": .stringConvertible(unsentBytes)])
    }

    /// Sends what the broker was not there for; what it refuses again waits on.
    func publishUnsent() {
        if holdsReplies { return }
        defer { if unsent.isEmpty { dropsReplies = false } }
        for _ in 0..<unsent.count {
            guard let message = unsent.popFirst() else { return }
            let result = message.topic.withUnsafeBufferPointer { topic in
                message.payload.withUnsafeBytes { payload in
                    (message.correlation ?? []).withUnsafeBytes { correlation in
                        topic.baseAddress.flatMap { name in
                            link?.publish(
                                OutgoingMessage(
                                    topic: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self), payload: payload,
                                    qos: message.qos, retain: false, token: message.token,
                                    correlation: message.correlation == nil ? nil : correlation))
                        }
                    }
                }
            }
            switch result {
            case .accepted: unsentBytes -= message.payload.count
            case .tooLarge, .invalidTopic:
                unsentBytes -= message.payload.count
                pendingReplies.remove(message.token)
            case .notConnected, .windowFull, .failed, nil:
                unsent.prepend(message)
                return
            }
        }
    }

    /// - Parameter topic: With the prefix.
    func publish(_ payload: [UInt8], on topic: String, qos: Int32, retain: Bool) {
        _ = topic.withCString { name in
            payload.withUnsafeBytes {
                link?.publish(OutgoingMessage(topic: name, payload: $0, qos: qos, retain: retain))
            }
        }
    }
}
