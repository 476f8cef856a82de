import CMosquitto
import Glibc

extension MQTTLink {
    /// Subscribes to all filters; the answer comes as one ``MQTTLinkHandler/linkSubscribed(id:granted:)``.
    ///
    /// libmosquitto has one QoS for a packet, so it is one SUBSCRIBE for each QoS named, sent back to back in the order of
    /// their first filters, and more only where one would be larger than the broker takes.
    ///
    /// - Returns: the number the answer carries; -1 where there is no connection or no filter.
    @discardableResult
    public func subscribe(_ filters: [(filter: String, qos: Int32)]) -> Int32 {
        guard phase == .connected, !filters.isEmpty else { return -1 }
        let id = nextRequestID()
        // 0x80 is used where a broker answers with fewer codes than there were filters.
        var pending = PendingSubscription(granted: Array(repeating: 0x80, count: filters.count), packetsLeft: 0)
        var placesOfQoS: [(qos: Int32, places: [Int])] = []
        for (place, (filter, qos)) in filters.enumerated() {
            guard Self.isFilter(filter) else {
                pending.granted[place] = 0x8F
                continue
            }
            let qos = max(0, min(qos, 1))
            if let known = placesOfQoS.firstIndex(where: { $0.qos == qos }) {
                placesOfQoS[known].places.append(place)
            } else {
                placesOfQoS.append((qos, [place]))
            }
        }
        for (qos, places) in placesOfQoS {
            for part in parts(of: places, bytes: { filters[$0].filter.utf8.count + 3 }) {
                var number: Int32 = 0
                let result = withCStrings(part.map { filters[$0].filter }) {
                    mosquitto_subscribe_multiple(client, &number, Int32(part.count), $0, qos, 0, nil)
                }
                // Without a connection nobody refused anything: no answer comes, and soon the end is reported.
                if Self.isLost(result) { return id }
                guard result == 0 else { continue }
                packets.last = UInt16(truncatingIfNeeded: number)
                subscriptionOfPacket[number] = (id, part)
                pending.packetsLeft += 1
            }
        }
        if pending.packetsLeft == 0 {
            events.append((inbound.count, .subscribed(id: id, granted: pending.granted)))
        } else {
            pendingSubscriptions[id] = pending
        }
        return id
    }

    /// Ends subscriptions; a filter that is not held is no error.
    ///
    /// - Returns: the number of the answer; -1 where there is no connection or no filter.
    @discardableResult
    public func unsubscribe(_ filters: [String]) -> Int32 {
        let filters = filters.filter(Self.isFilter)
        guard phase == .connected, !filters.isEmpty else { return -1 }
        let id = nextRequestID()
        for part in parts(of: Array(filters.indices), bytes: { filters[$0].utf8.count + 2 }) {
            var number: Int32 = 0
            let result = withCStrings(part.map { filters[$0] }) {
                mosquitto_unsubscribe_multiple(client, &number, Int32(part.count), $0, nil)
            }
            guard result == 0 else { continue }
            packets.last = UInt16(truncatingIfNeeded: number)
            unsubscriptionOfPacket[number] = id
        }
        return id
    }

    private static func isLost(_ result: Int32) -> Bool {
        result == MOSQ_ERR_NO_CONN.asInt32 || result == MOSQ_ERR_CONN_LOST.asInt32 || result == MOSQ_ERR_ERRNO.asInt32
    }

    private func nextRequestID() -> Int32 {
        lastRequestID = lastRequestID == .max ? 1 : lastRequestID + 1
        return lastRequestID
    }

    private static func isFilter(_ filter: String) -> Bool {
        let bytes = filter.utf8.count
        return (1...65535).contains(bytes) && !filter.utf8.contains(0) && mosquitto_sub_topic_check(filter) == 0
    }

    /// `places` in runs whose packet stays below what the broker takes, and below 1 MiB where it does not say.
    private func parts(of places: [Int], bytes: (Int) -> Int) -> [[Int]] {
        let maximum = min(maximumPacketBytes, 1 << 20) - 16
        var parts: [[Int]] = []
        var size = 0
        for place in places {
            if parts.isEmpty || size + bytes(place) > maximum {
                parts.append([])
                size = 0
            }
            parts[parts.count - 1].append(place)
            size += bytes(place)
        }
        return parts
    }

    private func withCStrings(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        return pointers.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { body(UnsafePointer($0)) } ?? Int32(MOSQ_ERR_INVAL.rawValue)
        }
    }
}
