import ArgumentParser
import Foundation
import GeomatchClient
import LiveTopics
import MQTTLink

/// Whom a command talks to, and as whom.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A context of ~/.config/geomatch/contexts, or a broker's URL. (environment: GEOMATCH_CONTEXT)", valueName: "NAME"))
    var context: String?

    @Option(
        help: ArgumentHelp(
            "The broker. (default: that of the context, else \(Self.defaultBroker))",
            valueName: "mqtt[s]://user:password@host:port"))
    var broker: String?

    @Option(
        help: ArgumentHelp(
            "Instead of a broker the daemon's own HTTP, for requests and watch. A key takes the password's place.",
            valueName: "http[s]://client:key@host:port"))
    var http: String?

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
        "--context", "--broker", "--http", "--dataset", "--client", "--topics-prefix", "--timeout", "--ca-file",
        "--certificate-file", "--key-file",
    ]

    /// Flags go before `--context`, that before the environment, that before `GEOMATCH_CONTEXT`, that before the defaults.
    ///
    /// - Parameters:
    ///   - criteria: Criteria for live topics, whose dataset counts where `--dataset` is not given.
    ///   - defaultClient: Who asks where nobody is named.
    ///   - needsBroker: HTTP will not do.
    /// - Throws: `usage` for a wrong flag, `configuration` for a wrong variable, each with what is allowed.
    func configuration(
        environment: [String: String] = ProcessInfo.processInfo.environment, criteria: String? = nil,
        defaultClient: String = "cli", needsBroker: Bool = false
    ) throws(CommandFailure) -> GeomatchConfiguration {
        guard timeout > 0, timeout <= 86_400 else {
            throw .usage("--timeout is \(timeout): more than 0 and at most 86400 seconds are allowed")
        }
        let settings = try Settings(context: context, environment: environment)
        let broker = try address(in: settings, needsBroker: needsBroker)
        let files = try TLSFiles(
            authority: Self.file(settings.setting(caFile, "ca-file")),
            certificate: Self.file(settings.setting(certificateFile, "certificate-file")),
            key: Self.file(settings.setting(keyFile, "key-file")))
        let user = try user(of: broker, with: files)
        var dataset = try Self.level(settings.setting(dataset, "dataset")) ?? "default"
        if self.dataset == nil, let first = criteria?.split(separator: "/", omittingEmptySubsequences: false).first {
            if Self.isLevel(String(first)) { dataset = String(first) }
        }
        var named = settings.setting(client, "client")
        // The user in the broker's address goes before the client of a context that the command line does not name.
        if user != nil, broker?.isFlag == true, named?.isOfDefault == true { named = nil }
        var client = try Self.level(named)
        if client == nil, let user {
            client = try Self.level(Setting(value: user, source: "the user in the broker's address", isFlag: self.broker != nil))
        }
        var configuration = GeomatchConfiguration(
            broker: broker?.value ?? Self.defaultBroker, dataset: dataset, client: client ?? defaultClient)
        configuration.topicsPrefix = try Self.prefix(settings.setting(topicsPrefix, "topics-prefix"))
        configuration.requestTimeout = .milliseconds(Int64(timeout * 1000))
        configuration.connectTimeout = configuration.requestTimeout
        if files.areGiven {
            configuration.tls = GeomatchConfiguration.TLS(
                caFile: files.authority, certificateFile: files.certificate, keyFile: files.key)
        }
        configuration.isForCommand = true
        configuration.connectionLost = { StandardError.note("\($0.message); trying again") }
        return configuration
    }

    /// Whether anybody named the dataset; else it is `default`.
    func namesDataset(environment: [String: String] = ProcessInfo.processInfo.environment) throws(CommandFailure) -> Bool {
        try Settings(context: context, environment: environment).setting(dataset, "dataset") != nil
    }

    private struct TLSFiles {
        var authority: String?
        var certificate: String?
        var key: String?

        var areGiven: Bool { authority != nil || certificate != nil || key != nil }
    }

    /// Where the daemon is: a broker's address, or its own.
    private func address(in settings: Settings, needsBroker: Bool) throws(CommandFailure) -> Setting? {
        guard http == nil || broker == nil else { throw .usage("--http and --broker are two ways to the daemon: give one") }
        let broker = settings.setting(broker, "broker")
        func isHTTP(_ setting: Setting) -> Bool { ["http://", "https://"].contains { setting.value.lowercased().hasPrefix($0) } }
        if let broker, isHTTP(broker) { throw broker.refused(MQTTEndpointError.scheme("http").description) }
        guard let http = settings.setting(http, "http"), broker?.isFlag != true else { return broker }
        guard isHTTP(http) else { throw http.refused("an address is written http[s]://client:key@host:port") }
        guard !needsBroker else {
            throw http.refused("this command needs a broker: over HTTP there are requests, `pub` and `watch`")
        }
        return http
    }

    /// The user in the broker's address, which is checked.
    private func user(of setting: Setting?, with files: TLSFiles) throws(CommandFailure) -> String? {
        let endpoint: MQTTEndpoint
        do throws(MQTTEndpointError) {
            endpoint = try GeomatchConfiguration.endpoint(of: setting?.value ?? Self.defaultBroker)
        } catch {
            throw setting?.refused(error.description) ?? .internal(error.description)
        }
        guard !files.areGiven || endpoint.tls != nil else {
            throw .usage("--ca-file, --certificate-file and --key-file need a broker with mqtts://, or https://")
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
        /// Of the context that counts where `--context` names none.
        var isOfDefault = false

        func refused(_ reason: String) -> CommandFailure {
            isFlag ? .usage("\(source): \(reason)") : .configuration("\(source): \(reason)")
        }
    }

    /// Where values come from, beside flags.
    private struct Settings {
        let environment: [String: String]
        /// Chosen by the flag, before the variables.
        let chosen: ConnectionContext?
        /// Chosen by the variable, or the default one, behind the variables.
        let fallback: ConnectionContext?

        init(context: String?, environment: [String: String]) throws(CommandFailure) {
            self.environment = environment
            if let context {
                chosen = try ConnectionContext.named(context, environment: environment)
                fallback = nil
            } else {
                chosen = nil
                let name = environment["GEOMATCH_CONTEXT"].flatMap { $0.isEmpty ? nil : $0 }
                fallback = try ConnectionContext.named(name, environment: environment)
            }
        }

        func setting(_ flag: String?, _ key: String) -> Setting? {
            if let flag { return Setting(value: flag, source: "--\(key)", isFlag: true) }
            if let setting = setting(key, of: chosen) { return setting }
            let variable = "GEOMATCH_" + key.uppercased().replacing("-", with: "_")
            if ConnectionOptions.variables.contains(variable), let value = environment[variable], !value.isEmpty {
                return Setting(value: value, source: variable, isFlag: false)
            }
            var setting = setting(key, of: fallback)
            setting?.isOfDefault = true
            return setting
        }

        private func setting(_ key: String, of context: ConnectionContext?) -> Setting? {
            guard let context, let value = context.values[key], !value.isEmpty else { return nil }
            let source = context.name.contains("://") ? "the broker in the context" : "context \(context.name), \(key)"
            return Setting(value: value, source: source, isFlag: false)
        }
    }

    /// `GEOMATCH_BROKER` is the daemon's and says which broker it uses, so it is not among them.
    static let variables = ["GEOMATCH_DATASET", "GEOMATCH_CLIENT", "GEOMATCH_TOPICS_PREFIX"]

    /// One level of a topic. Stricter rules are the daemon's: asking as somebody it refuses must be possible.
    private static func level(_ setting: Setting?) throws(CommandFailure) -> String? {
        guard let setting else { return nil }
        guard isLevel(setting.value) else {
            throw setting.refused("\"\(PlainText.printable(setting.value))\" is not one level of a topic: not empty, no / + #")
        }
        return setting.value
    }

    /// A file that must be there.
    private static func file(_ setting: Setting?) throws(CommandFailure) -> String? {
        guard let setting else { return nil }
        guard access(setting.value, R_OK) == 0 else {
            throw setting.refused("\(setting.value) cannot be read: \(String(cString: strerror(errno)))")
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
