import Loopback
import Testing

@testable import MQTTLink

/// Runs `body` with an embedded broker that has our plugin and listens on a free port, where `change` does not say otherwise.
/// - Parameter users: A password file, where it does not trust everybody.
func withEmbedded(
    in folder: String, users: String? = nil, log: @escaping @Sendable (String) -> Void = { _ in },
    change: (inout EmbeddedBrokerConfiguration) -> Void = { _ in },
    _ body: (EmbeddedBroker, EmbeddedBrokerConfiguration) throws -> Void
) throws {
    var configuration = EmbeddedBrokerConfiguration(
        dataDirectory: folder + "/data", port: Loopback.freePort(), usersFile: users, log: log)
    let plugin: String = try #require(BrokerPlugin.find(), "the product geomatch-broker-plugin is not built")
    configuration.pluginFile = plugin
    change(&configuration)
    try withEmbedded(configuration) { broker in try body(broker, configuration) }
}

func withEmbedded(_ configuration: EmbeddedBrokerConfiguration, _ body: (EmbeddedBroker) throws -> Void) throws {
    let broker = EmbeddedBroker(configuration)
    try broker.start(timeoutSeconds: 20)
    defer { broker.stop() }
    try body(broker)
}
