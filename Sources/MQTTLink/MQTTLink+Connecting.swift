import CMosquitto
import Glibc

extension MQTTLink {
    /// What holds for every try.
    func configure() {
        mosquitto_user_data_set(client, Unmanaged.passUnretained(self).toOpaque())
        // Keeps packets from being written inside publish: all writes happen in `flush`, so a QoS 0 message that was sent
        // and a PUBACK, which the library reports by the same callback, are distinguished by the caller.
        mosquitto_threaded_set(client, true)
        mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1)
        mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(max(1, min(configuration.batchMaximum, 65535))))
        mosquitto_max_inflight_messages_set(client, UInt32(max(1, min(configuration.inflightMaximum, 65535))))
        let endpoint = configuration.endpoint
        if let username = endpoint.username {
            mosquitto_username_pw_set(client, username, endpoint.password)
        }
        if let will = configuration.will {
            _ = will.payload.withUnsafeBytes {
                mosquitto_will_set(
                    client, will.topic, Int32($0.count), $0.baseAddress, 1, true)
            }
        }
        if let tls = endpoint.tls, endpoint.usesTLS {
            mosquitto_tls_set(
                client, tls.caFile, tls.caFile == nil ? "/etc/ssl/certs" : nil, tls.certificateFile, tls.keyFile, nil)
            if tls.insecure { mosquitto_tls_insecure_set(client, true) }
        }
        installCallbacks()
    }

    func beginConnecting() {
        connack = nil
        connectWasSent = false
        brokerReason = 0
        lastErrorText = nil
        writeBlocked = false
        moreToRead = false
        phase = .connecting(until: monotonicNow() + UInt64(max(0.1, configuration.connectTimeoutSeconds) * 1e9))
        primeConnectProperties()
        let keepAlive = Int32(max(5, min(configuration.keepAliveSeconds, 65535)))
        let endpoint = configuration.endpoint
        var result: Int32
        errno = 0
        if let path = endpoint.unixPath {
            result = mosquitto_connect_bind_async(client, path, 0, keepAlive, nil)
        } else {
            let host = endpoint.hosts[hostIndex]
            if addresses.isEmpty { addresses = resolve(host.name) }
            guard let address = addresses.first else { return connectionEnded(0) }
            let port = Int32(host.port)
            if !endpoint.usesTLS {
                // One address at a time: without blocking the library would stay with the first, and `localhost` is ::1 first.
                addresses.removeFirst()
                result = mosquitto_connect_bind_async(client, address, port, keepAlive, nil)
            } else if addresses.count == 1 {
                addresses.removeAll()
                result = mosquitto_connect_bind_async(client, host.name, port, keepAlive, nil)
            } else {
                // The certificate is checked against the host's name, so the name must be what the library is given.
                addresses.removeAll()
                result = mosquitto_connect(client, host.name, port, keepAlive)
            }
        }
        // MOSQ_ERR_CONN_PENDING is -1: under way.
        if result > 0 {
            if result == MOSQ_ERR_ERRNO.asInt32, errno != 0 { lastErrorText = String(cString: strerror(errno)) }
            connectionEnded(result)
        }
    }

    /// Gives the library the properties of CONNECT. It takes them only by the blocking call, and keeps them for all later
    /// ones before it looks at the host: without a host it does that and nothing else.
    private func primeConnectProperties() {
        let version = protocolVersion == 5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, Int32(version))
        var properties: OpaquePointer?
        if protocolVersion == 5 && configuration.persistentSession {
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), configuration.sessionExpirySeconds)
        }
        _ = mosquitto_connect_bind_v5(client, nil, 1, 60, nil, properties)
        mosquitto_property_free_all(&properties)
    }

    private func resolve(_ host: String) -> [String] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, nil, &hints, &list)
        guard result == 0 else {
            lastErrorText = "\(host): \(String(cString: gai_strerror(result)))"
            return []
        }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var next = list
        while let entry = next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            {
                let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                if !found.contains(address) { found.append(address) }
            }
            next = entry.pointee.ai_next
        }
        return found
    }

    func becameConnected() {
        phase = .connected
        connectedAt = monotonicNow()
        addresses.removeAll()
        hostsTried = 0
        writeBlocked = false
    }

    /// The one place where a connection, or the try of one, ends.
    func connectionEnded(_ result: Int32) {
        guard phase != .finished else { return }
        if mosquitto_socket(client) >= 0 { abandonSocket() }
        // What came before the end is handed over first.
        dispatch()
        ring?.close()
        ringHeldAt = nil
        let cause = causeOfEnd(result)
        queuedPlain = 0
        batch.removeAll()
        batchCounts.removeAll()
        writeBlocked = false
        moreToRead = false
        pendingSubscriptions.removeAll()
        subscriptionOfPacket.removeAll()
        unsubscriptionOfPacket.removeAll()
        if retriesAtOnce(cause) {
            phase = .waiting(until: 0)
            return
        }
        // Only a connection that held for a while is a success: two clients of one name put each other out at once.
        if phase == .connected, monotonicNow() - connectedAt > 5_000_000_000 { backoff.reset() }
        var disconnect = MQTTDisconnect(cause: cause, retryAfterSeconds: nil)
        let share = Double.random(in: 0...1, using: &random)
        let delay = disconnect.needsAction ? backoff.slow(random: share) : backoff.next(random: share)
        disconnect.retryAfterSeconds = delay
        phase = .waiting(until: monotonicNow() + UInt64(delay * 1e9))
        handler?.linkDisconnected(disconnect)
    }

    private func causeOfEnd(_ result: Int32) -> MQTTDisconnect.Cause {
        if let connack, connack.code != 0 {
            let refusal = MQTTDisconnect.Refusal(code: connack.code)
            return .refused(refusal, code: connack.code, text: refusal.text(code: connack.code))
        }
        if phase == .connected {
            if brokerReason >= 0x80 { return .lost(String(cString: mosquitto_reason_string(Int32(brokerReason)))) }
            return .lost(lastErrorText ?? text(of: result))
        }
        return .unreachable(lastErrorText ?? text(of: result))
    }

    private func text(of result: Int32) -> String {
        if result == 0 || result == MOSQ_ERR_CONN_LOST.asInt32 { return "the other side closed the connection" }
        return String(cString: mosquitto_strerror(result))
    }

    /// Another protocol version, another address of the same host or another host is worth a try before any waiting.
    private func retriesAtOnce(_ cause: MQTTDisconnect.Cause) -> Bool {
        guard stopDeadline == nil else { return false }
        switch cause {
        case .refused(.protocolVersion, _, _) where protocolVersion == 5:
            protocolVersion = 4
            protocolWasGuessed = false
            return true
        case .unreachable where !addresses.isEmpty:
            return true
        case .unreachable where turnsToNextHost(), .refused(.serverUnavailable, _, _) where turnsToNextHost():
            return true
        case .unreachable:
            // Some brokers (RabbitMQ before 3.13) answer an unknown version by closing. It may mean anything, so the other
            // version comes next, and after that this one again.
            guard configuration.protocolVersion == 5, closedWithoutAnswer else { return false }
            protocolVersion = protocolVersion == 5 ? 4 : 5
            protocolWasGuessed = protocolVersion == 4
            return protocolVersion == 4
        case .lost:
            _ = turnsToNextHost()
            hostsTried = 0
            if protocolWasGuessed { protocolVersion = 5 }
            return false
        default:
            return false
        }
    }

    /// - Returns: false where all hosts have been tried: then comes a pause.
    private func turnsToNextHost() -> Bool {
        let count = configuration.endpoint.hosts.count
        addresses.removeAll()
        hostIndex = (hostIndex + 1) % count
        hostsTried = (hostsTried + 1) % count
        return hostsTried > 0
    }

    /// True where the transport was open, CONNECT went out, and the broker closed.
    private var closedWithoutAnswer: Bool { connectWasSent && connack == nil }

    /// Closes the library's socket, for which it has no call: the next read finds the end.
    func abandonSocket() {
        let socket = mosquitto_socket(client)
        guard socket >= 0 else { return }
        shutdown(socket, Int32(SHUT_RDWR))
        isReading = true
        for _ in 0..<64 where mosquitto_socket(client) >= 0 {
            if mosquitto_loop_read(client, 1) != 0 { break }
        }
        isReading = false
    }

    func noteSocketError() {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(mosquitto_socket(client), SOL_SOCKET, SO_ERROR, &code, &size) == 0, code != 0 else { return }
        lastErrorText = String(cString: strerror(code))
    }

    /// Whether the socket has nobody at its other end.
    var isUnconnected: Bool {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(mosquitto_socket(client), $0, &size) != 0 }
        }
    }

    /// The broker keeps nothing for us once the connection ends. MQTT 5 only: 3.1.1 has no word for it.
    public func endSession() { endsSession = true }

    private func disconnect() {
        var properties: OpaquePointer?
        if endsSession, protocolVersion == 5 {
            mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), 0)
        }
        mosquitto_disconnect_v5(client, 0, properties)
        mosquitto_property_free_all(&properties)
    }

    /// DISCONNECT, and at most two seconds for a socket that does not take it.
    func sayGoodbye() {
        if phase == .connected {
            emptyRing()
            dispatch()
            sendBatch()
            disconnect()
            let deadline = monotonicNow() + 2_000_000_000
            while mosquitto_socket(client) >= 0, monotonicNow() < deadline {
                var descriptor = pollfd(fd: mosquitto_socket(client), events: Int16(POLLOUT), revents: 0)
                _ = poll(&descriptor, 1, 100)
                if mosquitto_loop_write(client, 1) != 0 { break }
            }
        }
        phase = .finished
        abandonSocket()
        handler?.linkDisconnected(MQTTDisconnect(cause: .stopped, retryAfterSeconds: nil))
    }
}

extension MQTTEndpoint {
    var usesTLS: Bool { tls != nil && unixPath == nil }
}

extension MQTTEndpoint.TLS {
    /// libmosquitto says only "invalid" for a file it cannot open; this says which and why.
    func checkFiles() throws(MQTTEndpointError) {
        guard (certificateFile == nil) == (keyFile == nil) else { throw .certificatePair }
        for (role, path) in [("CA file", caFile), ("certificate file", certificateFile), ("key file", keyFile)] {
            guard let path else { continue }
            if access(path, R_OK) != 0 {
                throw .file(role: role, path: path, reason: String(cString: strerror(errno)))
            }
        }
    }
}

extension mosq_err_t {
    var asInt32: Int32 { Int32(rawValue) }
}
