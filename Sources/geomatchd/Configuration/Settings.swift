import MQTTDoor
import Datasets
import HTTPDoor
import Logging
import MQTTLink
import PostgresStore
import Wire

/// The daemon's configuration, read and checked.
struct Settings: Sendable {
    enum LogFormat: String, CaseIterable, Sendable { case text, json }

    /// The broker to use instead of an own one; nil runs the embedded mosquitto.
    var broker: MQTTEndpoint?
    var listenHost = "127.0.0.1"
    var listenPort = 1883
    /// The encrypted listener of the embedded mosquitto.
    var encryptedListener: EmbeddedBrokerConfiguration.EncryptedListener?
    /// Where HTTP is offered, and how; nil: nowhere.
    var http: HTTPSettings? = HTTPSettings()
    /// Keys of HTTP in the file.
    var keys: [FileKey] = []
    var dataDirectory = "./geomatch-data"
    /// The PostgreSQL database where everything is kept instead; nil: a file in the data directory.
    var store: PostgresAddress?
    /// The cluster that this daemon is a node of; nil: it is alone.
    var cluster: String?
    /// Its name in the cluster.
    var node: String?
    /// Where other nodes reach its HTTP: a URL without a path; nil: where HTTP is offered.
    var httpAdvertised: String?
    var datasets: [String] = []
    var autoCreateDatasets = true
    var administrators = ["admin"]
    var usersFile: String?
    var webhooksAllowPrivate = true
    var push = PushSettings()
    var startTimeoutSeconds = 30.0
    var logLevel = Logger.Level.info
    var logFormat = LogFormat.text
    /// Empty, or ends with `/`.
    var topicsPrefix = ""
    var liveQoS = 0
    var liveInputQoS = 0
    /// Live updates come from the embedded broker through memory, not over MQTT.
    var liveSharesMemory = true
    var liveReaders = ["*"]
    /// The entries of `access`; nil without the key.
    var access: [AccessRules.Entry]?
    /// Connections on each listener of the embedded mosquitto.
    var connectionsMaximum = 10_000
    var httpLimits = HTTPLimits()
    /// Metrics say of which dataset.
    var metricsPerDataset = true
    /// What the page draws below the data; nil: nothing.
    var tiles: PageTiles?
    var homeAssistant = HomeAssistantSettings()
    var limits = HubLimits()
    var adapters: [AdapterRule] = []

    /// The names that no dataset may have, each with the adapter's filter that begins with it.
    var reservedDatasets: [String: String] { AdapterRule.reservedDatasets(of: adapters, prefix: topicsPrefix) }

    /// What is allowed and yet unwise, for the log of each start.
    var warnings: [String] = []

    /// The embedded broker, reached from this machine only: its clients are trusted.
    var isTrustedLoopback: Bool {
        broker == nil && Self.isLoopback(listenHost) && encryptedListener.map { Self.isLoopback($0.host) } ?? true
    }

    /// Who may name which datasets, and see and publish which live data.
    var accessRules: AccessRules {
        AccessRules(
            entries: access ?? [.everybody], administrators: AccessPatterns(administrators),
            liveReaders: AccessPatterns(liveReaders))
    }

    /// What the access list says of each user; nil where it says the same of all.
    var grants: (@Sendable (_ user: String) -> [AccessList.Grant])? {
        if access == nil, liveReaders == ["*"] { return nil }
        let (rules, administrators, readers) = (accessRules, self.administrators, liveReaders)
        return { rules.grants(user: $0, administrators: administrators, liveReaders: readers) }
    }

    /// Only an address that cannot be another machine's: a name such as `127.example.org` can.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                part.utf8.count <= 3 && part.utf8.allSatisfy { (48...57).contains($0) } && UInt8(part) != nil
            }
    }
}

/// Why the configuration cannot be used: the key, what was read, what is allowed.
struct SettingsError: Error, Equatable, CustomStringConvertible {
    enum Source: Equatable, Sendable {
        case flag, environment
        /// What several sources say does not go together.
        case together
        /// A variable of no key.
        case variable(String)
        case file(String)

        var isFile: Bool { if case .file = self { true } else { false } }
    }

    var key: String
    var source: Source
    var problem: String
    /// It is wrong by itself, whatever else is configured.
    var isAlone = false

    var description: String {
        switch source {
        case .flag: "--\(key): \(problem)"
        case .environment: "\(SettingsKey.environmentName(key)): \(problem)"
        case .together: "\(key): \(problem)"
        case .variable(let name): "\(name): \(problem)"
        case .file(let path): "\(path): \(key.isEmpty ? "" : "\(key): ")\(problem)"
        }
    }
}
