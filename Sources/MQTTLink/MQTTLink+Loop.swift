import CMosquitto
import Glibc

extension MQTTLink {
    /// Connects, serves and reconnects until ``stop(drainSeconds:)``, on the calling thread. Once for each link.
    public func run() {
        while phase != .finished {
            turn()
        }
        handler = nil
    }

    private func turn() {
        if case .waiting(let until) = phase, monotonicNow() >= until {
            if configuration.mayConnect?() == false {
                phase = .waiting(until: monotonicNow() + Self.permissionNanoseconds)
            } else {
                beginConnecting()
            }
        }
        let deadline = handler?.linkTick(now: wallNow()) ?? .max
        flush()
        var descriptors = (
            pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: -1, events: 0, revents: 0),
            pollfd(fd: -1, events: Int16(POLLIN), revents: 0)
        )
        let socket = mosquitto_socket(client)
        let paused = isPaused
        if socket >= 0 {
            descriptors.1 = pollfd(fd: socket, events: wantedEvents(paused: paused), revents: 0)
        }
        if !paused, let ring { descriptors.2.fd = ring.wakeDescriptor }
        let isReady = moreToRead && !paused || ringIsReady
        let timeout = isReady ? 0 : pollTimeout(handlerDeadline: deadline)
        withUnsafeMutablePointer(to: &descriptors) {
            $0.withMemoryRebound(to: pollfd.self, capacity: 3) { _ = poll($0, 3, timeout) }
        }
        if descriptors.0.revents != 0 { takeWake() }
        if descriptors.2.revents != 0 { ring?.takeWake() }
        if !paused { drainRing() }
        if socket >= 0, mosquitto_socket(client) == socket {
            serve(revents: Int32(descriptors.1.revents), paused: paused || ringGoesFirst())
        }
        flush()
        keepHouse()
    }

    /// So long after it may not connect it asks again.
    private static let permissionNanoseconds: UInt64 = 50_000_000

    // MARK: The socket

    /// Back-pressure: nothing more is read while the socket takes nothing and too much waits for it.
    var isPaused: Bool {
        writeBlocked && queuedMessages + packets.outstanding > configuration.outgoingHighWater
    }

    private func wantedEvents(paused: Bool) -> Int16 {
        var events = paused ? 0 : POLLIN
        // In a TLS handshake libmosquitto always wants to write although OpenSSL may wait for the broker: without this the
        // loop would spin. The poll timeout of that phase is short.
        let handshake = configuration.endpoint.usesTLS && phase != .connected && writeBlocked
        if mosquitto_want_write(client) && !handshake { events |= POLLOUT }
        return Int16(events)
    }

    private func serve(revents: Int32, paused: Bool) {
        let tls = configuration.endpoint.usesTLS
        let failed = revents & (POLLERR | POLLHUP | POLLNVAL) != 0
        if failed {
            noteSocketError()
            // Over TLS the library goes on with the handshake of a connection that was refused, and takes the error from the socket.
            if tls, case .connecting = phase, !connectWasSent, isUnconnected {
                lastErrorText = lastErrorText ?? String(cString: strerror(ECONNREFUSED))
                return connectionEnded(0)
            }
        }
        if revents & POLLOUT != 0 || failed || (tls && phase != .connected) {
            writeBlocked = false
            flush()
        }
        // What the ring waits for was written right behind its mark: it may have come since the poll.
        guard mosquitto_socket(client) >= 0, case let ready = revents & POLLIN != 0 || moreToRead || ringHeldAt != nil,
            failed || (!paused && (ready || tls))
        else { return }
        drain()
        if !paused { drainRing() }
    }

    /// Reads until the socket is empty, or enough for one batch has come, and hands it over.
    private func drain() {
        moreToRead = false
        isReading = true
        var result: Int32 = 0
        var reads = 0
        while true {
            let before = callbacks
            errno = 0
            result = mosquitto_loop_read(client, 1)
            if result != 0 || mosquitto_socket(client) < 0 { break }
            // libmosquitto says "empty" only through errno. It may also be left by the wake-up socket it writes to for
            // each PUBACK, so a call that brought a packet does not count.
            if errno == EAGAIN && callbacks == before { break }
            reads += 1
            if reads >= configuration.batchMaximum || inbound.byteCount >= configuration.batchBytesMaximum {
                moreToRead = true
                break
            }
        }
        isReading = false
        dispatch()
        if result != 0 || mosquitto_socket(client) < 0 { connectionEnded(result) }
    }

    /// Writes until nothing waits or the socket is full.
    func flush() {
        sendBatch()
        guard !writeBlocked, mosquitto_socket(client) >= 0, mosquitto_want_write(client) else { return }
        let result = mosquitto_loop_write(client, 1)
        if result != 0 || mosquitto_socket(client) < 0 { return connectionEnded(result) }
        writeBlocked = mosquitto_want_write(client)
        if !writeBlocked { connectWasSent = true }
    }

    /// Hands over what the callbacks noted, in the order in which it came.
    func dispatch() {
        for acknowledgement in acknowledgements {
            handler?.linkAcknowledged(token: acknowledgement.token, reason: acknowledgement.reason)
        }
        acknowledgements.removeAll(keepingCapacity: true)
        var delivered = 0
        if !events.isEmpty {
            let events = self.events
            self.events.removeAll(keepingCapacity: true)
            for (at, event) in events {
                if at > delivered { handler?.linkReceived(inbound.batch(delivered..<at)) }
                delivered = at
                report(event)
            }
        }
        guard inbound.count > 0 else { return }
        if inbound.count > delivered { handler?.linkReceived(inbound.batch(delivered..<inbound.count)) }
        inbound.removeAll()
    }

    private func report(_ event: LinkEvent) {
        switch event {
        case .subscribed(let id, let granted): handler?.linkSubscribed(id: id, granted: granted)
        case .unsubscribed(let id): handler?.linkUnsubscribed(id: id)
        case .connected(let sessionPresent):
            becameConnected()
            handler?.linkConnected(sessionPresent: sessionPresent, protocolVersion: protocolVersion)
        }
    }

    // MARK: Time and wake-ups

    private func takeWake() {
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, 8)
        wakePending.store(false, ordering: .sequentiallyConsistent)
        if stopDeadline == nil, let drain = stopRequest.withLock({ $0 }) {
            stopDeadline = monotonicNow() + UInt64(drain * 1e9)
        }
        handler?.linkWoken()
    }

    private func keepHouse() {
        let now = monotonicNow()
        releaseRing(now: now)
        // Answers that needed no packet, such as those to malformed filters.
        if !events.isEmpty { dispatch() }
        if now >= lastMisc + 1_000_000_000 {
            lastMisc = now
            if mosquitto_socket(client) >= 0 {
                let result = mosquitto_loop_misc(client)
                if result != 0 || mosquitto_socket(client) < 0 { connectionEnded(result) }
            }
        }
        if case .connecting(let until) = phase, now >= until {
            lastErrorText = "no answer within \(configuration.connectTimeoutSeconds) s"
            abandonSocket()
            connectionEnded(0)
        }
        if let stopDeadline { finishIfDrained(now: now, deadline: stopDeadline) }
    }

    private func pollTimeout(handlerDeadline: Int64) -> Int32 {
        let now = monotonicNow()
        var nanoseconds = min(1_000_000_000, (lastMisc + 1_000_000_000).saturatingDistance(from: now))
        switch phase {
        case .waiting(let until): nanoseconds = min(nanoseconds, until.saturatingDistance(from: now))
        case .connecting(let until):
            nanoseconds = min(nanoseconds, until.saturatingDistance(from: now))
            if configuration.endpoint.usesTLS { nanoseconds = min(nanoseconds, 20_000_000) }
        case .connected, .finished: break
        }
        if let stopDeadline { nanoseconds = min(nanoseconds, stopDeadline.saturatingDistance(from: now)) }
        if let ringHoldEnd, !isPaused { nanoseconds = min(nanoseconds, ringHoldEnd.saturatingDistance(from: now)) }
        if !events.isEmpty { return 0 }
        // Rounded up: waking a little before the instant would turn the loop twice.
        var milliseconds = Int64((nanoseconds + 999_999) / 1_000_000)
        if handlerDeadline < .max {
            let wall = wallNow()
            milliseconds = min(milliseconds, handlerDeadline <= wall ? 0 : handlerDeadline - wall)
        }
        return Int32(milliseconds)
    }

    private func finishIfDrained(now: UInt64, deadline: UInt64) {
        guard phase != .finished else { return }
        let drained = queuedMessages == 0 && packets.outstanding == 0 && !mosquitto_want_write(client)
        guard phase != .connected || drained || now >= deadline else { return }
        sayGoodbye()
    }
}

func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Milliseconds since 1970 UTC.
func wallNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}

extension UInt64 {
    /// 0 where `self` lies before `start`.
    func saturatingDistance(from start: UInt64) -> UInt64 { self > start ? self - start : 0 }
}
