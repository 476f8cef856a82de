/// What a link reports to its owner. Every call comes on the thread that runs the link, outside of libmosquitto's callbacks:
/// publishing, subscribing and stopping are allowed in all of them.
public protocol MQTTLinkHandler: AnyObject {
    /// CONNACK. Subscribe here, each time: without `sessionPresent` the broker knows no filter and held no message.
    ///
    /// QoS 1 messages not yet acknowledged are sent again by the library either way, so their tokens still come. Only
    /// ``MQTTLink/stop(drainSeconds:)`` leaves tokens unanswered. `protocolVersion` is 5 or 4 (3.1.1).
    func linkConnected(sessionPresent: Bool, protocolVersion: Int)

    /// What one drain of the socket brought, in arrival order. A subscription's answer cuts a batch in two, so that what
    /// came before it is seen before it. Valid only during the call.
    func linkReceived(_ batch: InboundBatch)

    /// SUBACK: one code for each filter in the order given; 0 and 1 grant that QoS, 0x80 and above refuse
    /// (0x8F, found here, is a malformed filter). A lost connection leaves a subscription unanswered.
    func linkSubscribed(id: Int32, granted: [UInt8])

    func linkUnsubscribed(id: Int32)

    /// PUBACK of a QoS 1 message: the broker has it (`reason` 0, or 0x10 where nobody subscribed), or refused it with an
    /// MQTT 5 `reason` of 0x80 or above. Always 0 with 3.1.1.
    func linkAcknowledged(token: UInt64, reason: UInt8)

    func linkDisconnected(_ reason: MQTTDisconnect)

    /// Somebody called ``MQTTLink/wake()``; several calls may be reported once.
    func linkWoken()

    /// Called once in each turn of the loop, after everything else.
    ///
    /// - Parameter now: milliseconds since 1970 UTC.
    /// - Returns: the instant at which the loop must turn again at the latest, same unit; `Int64.max` for none.
    func linkTick(now: Int64) -> Int64
}
