import ArgumentParser
import Foundation
import GeomatchClient
import LiveTopics
import MQTTLink

/// Whom a command talks to, and as whom.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The broker. (environment: GEOMATCH_BROKER; default: \(Self.defaultBroker))",
            valueName: "mqtt[s]://user:password@host:port"))
    var broker: String?

    @Option(help: ArgumentHelp("The dataset. (environment: GEOMATCH_DATASET; default: default)", valueName: "D"))
    var dataset: String?

    @Option(
        help: ArgumentHelp(
            "Who asks. (environment: GEOMATCH_CLIENT; default: the user in the broker's address, else cli)", valueName: "C"))
    var client: String?

    @Option(
        help: ArgumentHelp(
            "Topic levels before each topic, as in the daemon's topics.prefix. (environment: GEOMATCH_TOPICS_PREFIX)",
            valueName: "P"))
    var topicsPrefix: String?

    @Option(help: ArgumentHelp("How long to wait for an answer.", valueName: "SECONDS"))
    var timeout = 10.0

    @Option(help: ArgumentHelp("With mqtts: who may have signed the broker's certificate (PEM).", valueName: "FILE"))
    var caFile: String?

    @Option(help: ArgumentHelp("With mqtts: the client's own certificate (PEM).", valueName: "FILE"))
    var certificateFile: String?

    @Option(help: ArgumentHelp("With mqtts: the key of that certificate (PEM).", valueName: "FILE"))
    var keyFile: String?

    static let defaultBroker = "mqtt://127.0.0.1:1883"

    /// Flags go before the environment, that before the defaults.
    ///
    /// - Parameters:
    ///   - criteria: Criteria for live topics, whose dataset counts where `--dataset` is not given.
    ///   - defaultClient: Who asks where nobody is named.
    /// - Throws: `usage` for a wrong flag, `configuration` for a wrong variable, each with what is allowed.
    func destination(
        environment: [String: String] = ProcessInfo.processInfo.environment, criteria: String? = nil,
        defaultClient: String = "cli"
    ) throws(CommandFailure) -> Destination {
        guard timeout > 0, timeout <= 86_400 else {
            throw .usage("--timeout is \(timeout): more than 0 and at most 86400 seconds are allowed")
        }
        let endpoint = try endpoint(Self.setting(broker, "--broker", "GEOMATCH_BROKER", environment))
        var dataset = try Self.level(Self.setting(dataset, "--dataset", "GEOMATCH_DATASET", environment)) ?? "default"
        if self.dataset == nil, let first = criteria?.split(separator: "/", omittingEmptySubsequences: false).first {
            if Topics.isLevel(String(first)) { dataset = String(first) }
        }
        var client = try Self.level(Self.setting(client, "--client", "GEOMATCH_CLIENT", environment))
        if client == nil, let user = endpoint.username {
            client = try Self.level(Setting(value: user, source: "the user in the broker's address", isFlag: broker != nil))
        }
        let prefix = try Self.prefix(Self.setting(topicsPrefix, "--topics-prefix", "GEOMATCH_TOPICS_PREFIX", environment))
        return Destination(
            endpoint: endpoint,
            topics: Topics(prefix: prefix, dataset: dataset, client: client ?? defaultClient),
            timeoutSeconds: timeout)
    }

    /// The same for the library for applications.
    func configuration(of destination: Destination) -> GeomatchConfiguration {
        let broker = broker ?? ProcessInfo.processInfo.environment["GEOMATCH_BROKER"].flatMap { $0.isEmpty ? nil : $0 }
        var configuration = GeomatchConfiguration(
            broker: broker ?? Self.defaultBroker, dataset: destination.topics.dataset, client: destination.topics.client)
        configuration.topicsPrefix = destination.topics.prefix
        configuration.requestTimeout = .seconds(destination.timeoutSeconds)
        if [caFile, certificateFile, keyFile].contains(where: { $0 != nil }) {
            configuration.tls = GeomatchConfiguration.TLS(caFile: caFile, certificateFile: certificateFile, keyFile: keyFile)
        }
        return configuration
    }

    private func endpoint(_ setting: Setting?) throws(CommandFailure) -> MQTTEndpoint {
        var endpoint: MQTTEndpoint
        do throws(MQTTEndpointError) {
            endpoint = try MQTTEndpoint(url: setting?.value ?? Self.defaultBroker)
        } catch {
            throw setting?.refused(error.description) ?? .internal(error.description)
        }
        let files = [caFile, certificateFile, keyFile]
        guard files.contains(where: { $0 != nil }) else { return endpoint }
        guard endpoint.tls != nil else {
            throw .usage("--ca-file, --certificate-file and --key-file need a broker with mqtts://")
        }
        endpoint.tls = MQTTEndpoint.TLS(caFile: caFile, certificateFile: certificateFile, keyFile: keyFile)
        return endpoint
    }

    /// A value, and where it was read.
    private struct Setting {
        var value: String
        var source: String
        var isFlag: Bool

        func refused(_ reason: String) -> CommandFailure {
            isFlag ? .usage("\(source): \(reason)") : .configuration("\(source): \(reason)")
        }
    }

    private static func setting(
        _ flag: String?, _ name: String, _ variable: String, _ environment: [String: String]
    ) -> Setting? {
        if let flag { return Setting(value: flag, source: name, isFlag: true) }
        guard let value = environment[variable], !value.isEmpty else { return nil }
        return Setting(value: value, source: variable, isFlag: false)
    }

    /// One level of a topic. Stricter rules are the daemon's: asking as somebody it refuses must be possible.
    private static func level(_ setting: Setting?) throws(CommandFailure) -> String? {
        guard let setting else { return nil }
        guard Topics.isLevel(setting.value) else {
            throw setting.refused("\"\(PlainText.printable(setting.value))\" is not one level of a topic: not empty, no / + #")
        }
        return setting.value
    }

    private static func prefix(_ setting: Setting?) throws(CommandFailure) -> String {
        guard let setting, !setting.value.isEmpty else { return "" }
        do throws(TopicFilterError) {
            try TopicFilter.validateTopic(setting.value)
        } catch {
            throw setting.refused(error.message)
        }
        return setting.value.hasSuffix("/") ? setting.value : setting.value + "/"
    }
}
