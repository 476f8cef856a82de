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

    /// As they are written, each with a value.
    static let names = [
        "--broker", "--dataset", "--client", "--topics-prefix", "--timeout", "--ca-file", "--certificate-file", "--key-file",
    ]

    /// Flags go before the environment, that before the defaults.
    ///
    /// - Parameters:
    ///   - criteria: Criteria for live topics, whose dataset counts where `--dataset` is not given.
    ///   - defaultClient: Who asks where nobody is named.
    /// - Throws: `usage` for a wrong flag, `configuration` for a wrong variable, each with what is allowed.
    func configuration(
        environment: [String: String] = ProcessInfo.processInfo.environment, criteria: String? = nil,
        defaultClient: String = "cli"
    ) throws(CommandFailure) -> GeomatchConfiguration {
        guard timeout > 0, timeout <= 86_400 else {
            throw .usage("--timeout is \(timeout): more than 0 and at most 86400 seconds are allowed")
        }
        let broker = Self.setting(broker, "--broker", "GEOMATCH_BROKER", environment)
        let user = try user(of: broker)
        var dataset = try Self.level(Self.setting(dataset, "--dataset", "GEOMATCH_DATASET", environment)) ?? "default"
        if self.dataset == nil, let first = criteria?.split(separator: "/", omittingEmptySubsequences: false).first {
            if Self.isLevel(String(first)) { dataset = String(first) }
        }
        var client = try Self.level(Self.setting(client, "--client", "GEOMATCH_CLIENT", environment))
        if client == nil, let user {
            client = try Self.level(Setting(value: user, source: "the user in the broker's address", isFlag: self.broker != nil))
        }
        var configuration = GeomatchConfiguration(
            broker: broker?.value ?? Self.defaultBroker, dataset: dataset, client: client ?? defaultClient)
        configuration.topicsPrefix = try Self.prefix(
            Self.setting(topicsPrefix, "--topics-prefix", "GEOMATCH_TOPICS_PREFIX", environment))
        configuration.requestTimeout = .milliseconds(Int64(timeout * 1000))
        configuration.connectTimeout = configuration.requestTimeout
        if hasFiles {
            configuration.tls = GeomatchConfiguration.TLS(caFile: caFile, certificateFile: certificateFile, keyFile: keyFile)
        }
        configuration.isForCommand = true
        configuration.connectionLost = { StandardError.note("\($0.message); trying again") }
        return configuration
    }

    private var hasFiles: Bool { [caFile, certificateFile, keyFile].contains { $0 != nil } }

    /// The user in the broker's address, which is checked.
    private func user(of setting: Setting?) throws(CommandFailure) -> String? {
        let endpoint: MQTTEndpoint
        do throws(MQTTEndpointError) {
            endpoint = try MQTTEndpoint(url: setting?.value ?? Self.defaultBroker)
        } catch {
            throw setting?.refused(error.description) ?? .internal(error.description)
        }
        guard !hasFiles || endpoint.tls != nil else {
            throw .usage("--ca-file, --certificate-file and --key-file need a broker with mqtts://")
        }
        return endpoint.username
    }

    static func isLevel(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 1024 && !text.utf8.contains { "/+#".utf8.contains($0) || $0 < 0x20 || $0 == 0x7F }
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
        guard isLevel(setting.value) else {
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
