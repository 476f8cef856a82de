/// One message as it came. The bytes belong to the batch.
public struct InboundMessage {
    /// UTF-8, followed by a NUL byte.
    public let topic: UnsafeRawBufferPointer
    /// Followed by at least 64 zero bytes, for parsers that read in blocks.
    public let payload: UnsafeRawBufferPointer
    /// A retained message replayed by the broker on a subscription.
    public let retain: Bool
    /// 0, 1 or 2.
    public let qos: Int32
    /// MQTT 5: where an answer is wanted, followed by a NUL byte.
    public let responseTopic: UnsafeRawBufferPointer?
    /// MQTT 5: to be returned unchanged with the answer.
    public let correlation: UnsafeRawBufferPointer?
    /// How many older messages of the topic the embedded broker left out for this one.
    public let leftOut: UInt32

    package init(
        topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, retain: Bool, qos: Int32,
        responseTopic: UnsafeRawBufferPointer? = nil, correlation: UnsafeRawBufferPointer? = nil, leftOut: UInt32 = 0
    ) {
        self.topic = topic
        self.payload = payload
        self.retain = retain
        self.qos = qos
        self.responseTopic = responseTopic
        self.correlation = correlation
        self.leftOut = leftOut
    }
}

/// Messages of one drain, all in one buffer; valid only during the call that hands it over.
public struct InboundBatch {
    let bytes: UnsafeMutableRawPointer
    let slots: UnsafePointer<InboundBuffer.Slot>
    public let count: Int

    public subscript(index: Int) -> InboundMessage {
        precondition(index >= 0 && index < count, "message \(index) of a batch of \(count)")
        let slot = slots[index]
        let topic = bytes + slot.start
        let payload = topic + slot.topicCount + 1
        let response = payload + slot.payloadCount + InboundBuffer.padding
        return InboundMessage(
            topic: UnsafeRawBufferPointer(start: topic, count: slot.topicCount),
            payload: UnsafeRawBufferPointer(start: payload, count: slot.payloadCount),
            retain: slot.retain,
            qos: Int32(slot.qos),
            responseTopic: slot.responseCount < 0
                ? nil : UnsafeRawBufferPointer(start: response, count: Int(slot.responseCount)),
            correlation: slot.correlationCount < 0
                ? nil
                : UnsafeRawBufferPointer(
                    start: response + max(0, Int(slot.responseCount)) + 1, count: Int(slot.correlationCount)),
            leftOut: slot.leftOut)
    }
}
