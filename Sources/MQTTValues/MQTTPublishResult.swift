/// What became of a publish.
public enum MQTTPublishResult: Sendable, Equatable {
    /// Handed to the library. At QoS 1 the token's acknowledgement follows.
    case accepted
    /// Larger than MQTT, or this broker's CONNACK, allows.
    case tooLarge
    /// Nothing was kept: publish again after the next connection.
    case notConnected
    /// Empty, with a wildcard, or not UTF-8.
    case invalidTopic
    /// QoS 1 only: 65,535 publishes ago one was not acknowledged yet and its packet number would be used twice. Try again
    /// after an acknowledgement.
    case windowFull
    /// The broker offers no QoS 1, or libmosquitto failed with this `MOSQ_ERR_…`.
    case failed(Int32)
}
