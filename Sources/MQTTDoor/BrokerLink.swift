import MQTTLink

/// The connection to a broker, as the door uses it.
public protocol BrokerLink: AnyObject {
    /// QoS 0 messages that wait for the socket.
    var queuedMessages: Int { get }
    /// QoS 1 messages whose PUBACK has not come.
    var unacknowledged: Int { get }
    func publish(_ message: OutgoingMessage) -> MQTTPublishResult
    func subscribe(_ filters: [(filter: String, qos: Int32)]) -> Int32
    func unsubscribe(_ filters: [String]) -> Int32
    /// Has the broker take nothing on topics that begin so for a second, where it can.
    func refusePublications(below prefix: String)
    /// Has an embedded broker hand over through memory what the filters select.
    ///
    /// To be followed by a QoS 1 message to ourselves: what comes that way is read once it came.
    ///
    /// - Parameters:
    ///   - kept: Topics that begin so stay with the connection.
    ///   - keepsAssured: So does what was published at a higher QoS than 0.
    /// - Returns: Why everything stays there; nil: it does not, or there is no such memory.
    func openRing(kept: String, keepsAssured: Bool) -> LiveRing.Refusal?
    /// The broker keeps nothing for us once the connection ends. MQTT 5 only.
    func endSession()
    /// From any thread.
    func wake()
    func stop(drainSeconds: Double)
}

extension BrokerLink {
    public func refusePublications(below prefix: String) {}
    public func openRing(kept: String, keepsAssured: Bool) -> LiveRing.Refusal? { nil }
    public func endSession() {}
}

/// One message on its way out; everything is borrowed for the call.
public struct OutgoingMessage {
    /// UTF-8 with a NUL at its end.
    public var topic: UnsafePointer<CChar>
    public var payload: UnsafeRawBufferPointer
    public var qos: Int32
    public var retain: Bool
    public var token: UInt64 = 0
    public var correlation: UnsafeRawBufferPointer?
}

extension MQTTLink: BrokerLink {
    public func publish(_ message: OutgoingMessage) -> MQTTPublishResult {
        publish(
            topic: message.topic, payload: message.payload, qos: message.qos, retain: message.retain, token: message.token,
            correlation: message.correlation)
    }
}
