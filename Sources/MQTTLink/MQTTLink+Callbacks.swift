import CMosquitto
import Glibc

/// libmosquitto's callbacks: they copy what they are given and return. The pointer is the link itself, which outlives its
/// client.
extension MQTTLink {
    func installCallbacks() {
        mosquitto_message_v5_callback_set(client) { _, context, message, properties in
            guard let message, let link = MQTTLink.from(context) else { return }
            link.collect(message.pointee, properties: properties)
        }
        mosquitto_publish_v5_callback_set(client) { _, context, number, reason, _ in
            MQTTLink.from(context)?.published(UInt16(truncatingIfNeeded: number), reason: UInt8(truncatingIfNeeded: reason))
        }
        mosquitto_connect_v5_callback_set(client) { _, context, code, flags, properties in
            MQTTLink.from(context)?.answered(
                UInt8(truncatingIfNeeded: code), sessionPresent: flags & 1 != 0, properties: properties)
        }
        mosquitto_disconnect_v5_callback_set(client) { _, context, reason, _ in
            MQTTLink.from(context)?.brokerReason = UInt8(truncatingIfNeeded: reason)
        }
        mosquitto_subscribe_v5_callback_set(client) { _, context, number, count, granted, _ in
            MQTTLink.from(context)?.subscribed(number, UnsafeBufferPointer(start: granted, count: Int(count)))
        }
        mosquitto_unsubscribe_v5_callback_set(client) { _, context, number, _ in
            MQTTLink.from(context)?.unsubscribed(number)
        }
        mosquitto_log_callback_set(client) { _, context, level, text in
            // The reasons of a failed TLS handshake are reported nowhere else.
            guard level == Int32(MOSQ_LOG_ERR), let text, let link = MQTTLink.from(context) else { return }
            link.lastErrorText = String(cString: text)
        }
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> MQTTLink? {
        context.map { Unmanaged<MQTTLink>.fromOpaque($0).takeUnretainedValue() }
    }

    private func collect(_ message: mosquitto_message, properties: OpaquePointer?) {
        callbacks &+= 1
        guard let topic = message.topic else { return }
        let topicBytes = UnsafeRawBufferPointer(start: topic, count: strlen(topic))
        let payload = UnsafeRawBufferPointer(start: message.payload, count: Int(max(0, message.payloadlen)))
        drainRing(before: topicBytes, payload)
        guard let properties else {
            inbound.append(
                topic: topicBytes, payload: payload, qos: UInt8(truncatingIfNeeded: message.qos), retain: message.retain,
                response: nil, correlation: nil)
            return
        }
        var response: UnsafeMutablePointer<CChar>?
        var correlation: UnsafeMutableRawPointer?
        var correlationCount: UInt16 = 0
        _ = mosquitto_property_read_string(properties, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), &response, false)
        let found = mosquitto_property_read_binary(
            properties, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), &correlation, &correlationCount, false)
        inbound.append(
            topic: topicBytes, payload: payload, qos: UInt8(truncatingIfNeeded: message.qos), retain: message.retain,
            response: response.map { UnsafeRawBufferPointer(start: $0, count: strlen($0)) },
            correlation: found == nil ? nil : UnsafeRawBufferPointer(start: correlation, count: Int(correlationCount)))
        free(response)
        free(correlation)
    }

    /// In the reading half of a turn it is a PUBACK; in the writing half a QoS 0 message that went out.
    private func published(_ number: UInt16, reason: UInt8) {
        guard isReading else {
            queuedPlain = max(0, queuedPlain - (batchCounts.removeValue(forKey: number) ?? 1))
            return
        }
        callbacks &+= 1
        guard let token = packets.answer(number) else { return }
        acknowledgements.append((token, reason))
    }

    private func answered(_ code: UInt8, sessionPresent: Bool, properties: OpaquePointer?) {
        callbacks &+= 1
        connack = (code, sessionPresent)
        guard code == 0 else { return }
        maximumPacketBytes = .max
        if let properties {
            var size: UInt32 = 0
            let property = Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue)
            if mosquitto_property_read_int32(properties, property, &size, false) != nil { maximumPacketBytes = Int(size) }
        }
        events.append((inbound.count, .connected(sessionPresent: sessionPresent)))
    }

    private func subscribed(_ number: Int32, _ granted: UnsafeBufferPointer<Int32>) {
        callbacks &+= 1
        guard let (id, places) = subscriptionOfPacket.removeValue(forKey: number),
            var pending = pendingSubscriptions.removeValue(forKey: id)
        else { return }
        for (place, code) in zip(places, granted) { pending.granted[place] = UInt8(truncatingIfNeeded: code) }
        pending.packetsLeft -= 1
        if pending.packetsLeft > 0 {
            pendingSubscriptions[id] = pending
        } else {
            events.append((inbound.count, .subscribed(id: id, granted: pending.granted)))
        }
    }

    private func unsubscribed(_ number: Int32) {
        callbacks &+= 1
        guard let id = unsubscriptionOfPacket.removeValue(forKey: number) else { return }
        if !unsubscriptionOfPacket.values.contains(id) { events.append((inbound.count, .unsubscribed(id: id))) }
    }
}
