import Glibc

// Live updates that come through memory from the embedded broker's plugin take their place among the messages of the connection.

extension MQTTLink {
    /// Has the broker hand over what this session's filters select through memory, see ``LiveRing``.
    ///
    /// To be followed by a QoS 1 message to ourselves: what comes through the memory is read once that came.
    ///
    /// - Parameters:
    ///   - kept: Topics that begin so stay with the connection.
    ///   - keepsAssured: So does what was published at a higher QoS than 0.
    /// - Returns: Why everything goes on coming over the connection; nil: it does not, or there is no such memory.
    public func openRing(kept: String, keepsAssured: Bool) -> LiveRing.Refusal? {
        guard let ring, phase == .connected else { return nil }
        ringHeldAt = nil
        askedForMoreAt = nil
        return ring.open(client: configuration.clientID, kept: kept, keepsAssured: keepsAssured)
    }

    /// Takes in what comes next, as much as one batch may have, and hands it over.
    func drainRing() {
        guard let ring else { return }
        var step = LiveRing.Step.update
        while step == .update, inbound.count < configuration.batchMaximum, inbound.byteCount < configuration.batchBytesMaximum {
            step = ring.next(append)
        }
        ring.giveBack()
        if step == .held { ringHeldAt = ringHeldAt ?? monotonicNow() } else { ringHeldAt = nil }
        if inbound.count > 0 { dispatch() }
        askForMore(ring)
    }

    /// Whether what waits in the memory goes on before the socket is read: a message there has it all handled at once.
    ///
    /// Now and then it is read nevertheless, for acknowledgements and signs of life.
    func ringGoesFirst() -> Bool {
        guard let ring, ringHeldAt == nil, ring.waitingBytes > Self.ringHighWater, turnsForRing < 64 else {
            turnsForRing = 0
            return false
        }
        turnsForRing += 1
        return true
    }

    private static let ringHighWater = 1 << 20

    /// Before a message of the connection: what the broker took before it.
    func drainRing(before topic: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) {
        guard let ring, ring.isOpen else { return }
        ringHeldAt = nil
        ring.reach(LiveRing.hash(topic: topic, payload: payload), append)
        ring.giveBack()
    }

    /// Everything that is there, at the end.
    func emptyRing() {
        guard let ring else { return }
        ring.close()
        while ring.next(append) == .update {}
        ring.giveBack()
    }

    private func append(_ update: LiveRing.Update) {
        inbound.append(
            topic: update.topic, payload: update.payload, qos: 0, retain: false, leftOut: update.leftOut, response: nil,
            correlation: nil)
    }

    /// The plugin learns that there is room only by a message, as it runs only when there is one.
    private func askForMore(_ ring: LiveRing) {
        guard phase == .connected, ring.shouldAskForMore else {
            askedForMoreAt = nil
            return
        }
        let now = monotonicNow()
        if let askedForMoreAt, now < askedForMoreAt + 50_000_000 { return }
        askedForMoreAt = now
        command("$geomatch/continue")
    }

    /// A message that does not come, as the broker dropped it, must not hold up what was taken behind it.
    func releaseRing(now: UInt64) {
        guard let end = ringHoldEnd, !isPaused, !moreToRead, now >= end else { return }
        ring?.release()
        ringHeldAt = nil
        ringMissedAt = now
    }

    /// Until when what comes next waits for a message of the connection; nil: it does not wait.
    ///
    /// The broker writes the message right behind its mark. Who makes it drop messages on purpose (QoS 2, expired before its release)
    /// delays others once.
    var ringHoldEnd: UInt64? {
        guard let ringHeldAt else { return nil }
        let hasMissed = ringMissedAt.map { ringHeldAt < $0 + 60_000_000_000 } ?? false
        return ringHeldAt + (hasMissed ? 20_000_000 : 1_000_000_000)
    }

    /// Whether there is something to read at once.
    var ringIsReady: Bool {
        guard let ring, !isPaused else { return false }
        return ringHeldAt == nil && !ring.mayWait()
    }
}
