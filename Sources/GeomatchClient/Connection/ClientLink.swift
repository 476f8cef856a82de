#if SystemLibraries
    internal import MQTTLink
#endif
internal import MQTTValues

/// What carries a session: a connection that is kept up by a loop on a thread of its own.
///
/// Everything but waking and stopping belongs to that thread.
protocol ClientLink: AnyObject, Sendable {
    var isConnected: Bool { get }
    /// QoS 0 messages that wait for the socket.
    var queuedMessages: Int { get }
    /// QoS 1 messages without their acknowledgement.
    var unacknowledged: Int { get }
    /// Runs until ``stop(drainSeconds:)``.
    func run()
    func wake()
    func stop(drainSeconds: Double)
    func send(_ message: Publication, token: UInt64, correlation: [UInt8]?) -> MQTTPublishResult
    /// - Returns: What its answer is known by.
    func subscribe(_ filters: [(filter: String, qos: Int32)]) -> Int32
    @discardableResult
    func unsubscribe(_ filters: [String]) -> Int32
}

#if SystemLibraries
    extension MQTTLink: ClientLink {
        func send(_ message: Publication, token: UInt64, correlation: [UInt8]?) -> MQTTPublishResult {
            publish(
                topic: message.topic, payload: message.payload, qos: message.qos, retain: message.retain, token: token,
                correlation: correlation)
        }
    }
#endif
