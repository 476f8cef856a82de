import CMosquitto
import Glibc

extension MQTTLink {
    /// Publishes one message; it is written at the end of this turn of the loop.
    ///
    /// Messages of one quality keep their order. A QoS 0 message may overtake QoS 1 messages beyond
    /// ``MQTTLinkConfiguration/inflightMaximum``, which wait for acknowledgements.
    ///
    /// - Parameters:
    ///   - topic: UTF-8 with a NUL at its end.
    ///   - qos: 0, or 1 with an acknowledgement of `token`.
    ///   - correlation: MQTT 5 correlation data, at most 65,535 bytes; left out with 3.1.1.
    ///   - messageExpiry: seconds after which the broker drops it; left out with 3.1.1.
    ///   - responseTopic: MQTT 5, with a NUL at its end; left out with 3.1.1.
    public func publish(
        topic: UnsafePointer<CChar>, payload: UnsafeRawBufferPointer, qos: Int32, retain: Bool, token: UInt64 = 0,
        correlation: UnsafeRawBufferPointer? = nil, messageExpiry: UInt32? = nil,
        responseTopic: UnsafePointer<CChar>? = nil
    ) -> MQTTPublishResult {
        guard phase == .connected, mosquitto_socket(client) >= 0 else { return .notConnected }
        guard let count = Int32(exactly: payload.count) else { return .tooLarge }
        if qos == 0, configuration.brokerTakesBatches, correlation == nil, messageExpiry == nil, responseTopic == nil,
            joinsBatch(topic: topic, payload: payload, retain: retain)
        {
            return .accepted
        }
        // What was published before goes first.
        sendBatch()
        if qos > 0 && packets.nextIsTaken { return .windowFull }
        var properties: OpaquePointer?
        if protocolVersion == 5 {
            if let correlation, correlation.count <= UInt16.max {
                mosquitto_property_add_binary(
                    &properties, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), correlation.baseAddress,
                    UInt16(correlation.count))
            }
            if let responseTopic {
                mosquitto_property_add_string(&properties, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), responseTopic)
            }
            if let messageExpiry {
                mosquitto_property_add_int32(
                    &properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), messageExpiry)
            }
        }
        var number: Int32 = 0
        let result = mosquitto_publish_v5(
            client, &number, topic, count, payload.baseAddress, qos > 0 ? 1 : 0, retain, properties)
        if properties != nil { mosquitto_property_free_all(&properties) }
        if number > 0 { packets.last = UInt16(truncatingIfNeeded: number) }
        guard result == 0 else { return Self.result(of: result) }
        if qos > 0 {
            packets.await(token, number: UInt16(truncatingIfNeeded: number))
        } else {
            queuedPlain += 1
        }
        return .accepted
    }

    /// Has the broker take nothing on topics that begin so for a second, and little for ten; other brokers than the embedded one cannot.
    public func refusePublications(below prefix: String) {
        guard configuration.brokerTakesBatches, phase == .connected else { return }
        command("$geomatch/refuse", Array(prefix.utf8))
    }

    /// A message to the embedded broker's plugin.
    func command(_ topic: String, _ payload: [UInt8] = []) {
        if mosquitto_publish(client, nil, topic, Int32(payload.count), payload, 0, false) == 0 { queuedPlain += 1 }
    }

    /// False for what must go the usual way: what the library refuses, and what is too long to share a packet.
    private func joinsBatch(topic: UnsafePointer<CChar>, payload: UnsafeRawBufferPointer, retain: Bool) -> Bool {
        let topicBytes = UnsafeRawBufferPointer(start: topic, count: strlen(topic))
        guard !topicBytes.isEmpty, mosquitto_pub_topic_check2(topic, topicBytes.count) == 0,
            mosquitto_validate_utf8(topic, Int32(truncatingIfNeeded: topicBytes.count)) == 0
        else { return false }
        if batch.append(topic: topicBytes, payload: payload, retain: retain) { return true }
        sendBatch()
        return batch.append(topic: topicBytes, payload: payload, retain: retain)
    }

    /// Gives the library what was gathered, as one message.
    func sendBatch() {
        guard batch.count > 0, phase == .connected else { return }
        var number: Int32 = 0
        let result = batch.bytes.withUnsafeBytes {
            mosquitto_publish_v5(
                client, &number, OutboundBatch.topic, Int32($0.count), $0.baseAddress, 0, false, nil)
        }
        if number > 0 { packets.last = UInt16(truncatingIfNeeded: number) }
        if result == 0 {
            batchCounts[UInt16(truncatingIfNeeded: number)] = batch.count
            queuedPlain += batch.count
        }
        batch.removeAll()
    }

    /// The same for a topic and a payload that are at hand as Swift values.
    public func publish(
        topic: String, payload: some Sequence<UInt8>, qos: Int32 = 0, retain: Bool = false, token: UInt64 = 0,
        correlation: [UInt8]? = nil, messageExpiry: UInt32? = nil
    ) -> MQTTPublishResult {
        guard !topic.utf8.contains(0) else { return .invalidTopic }
        return topic.withCString { topic in
            Array(payload).withUnsafeBytes { payload in
                guard let correlation else {
                    return publish(
                        topic: topic, payload: payload, qos: qos, retain: retain, token: token, correlation: nil,
                        messageExpiry: messageExpiry)
                }
                return correlation.withUnsafeBytes {
                    publish(
                        topic: topic, payload: payload, qos: qos, retain: retain, token: token, correlation: $0,
                        messageExpiry: messageExpiry)
                }
            }
        }
    }

    private static func result(of code: Int32) -> MQTTPublishResult {
        switch code {
        case MOSQ_ERR_PAYLOAD_SIZE.asInt32, MOSQ_ERR_OVERSIZE_PACKET.asInt32: .tooLarge
        case MOSQ_ERR_INVAL.asInt32, MOSQ_ERR_MALFORMED_UTF8.asInt32: .invalidTopic
        case MOSQ_ERR_NO_CONN.asInt32: .notConnected
        default: .failed(code)
        }
    }
}
