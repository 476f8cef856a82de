import Datasets
import Logging
import MQTTLink
import Wire

/// The daemon's configuration, read and checked.
struct Settings: Sendable {
    enum LogFormat: String, CaseIterable, Sendable { case text, json }

    /// The broker to use instead of an own one; nil runs the embedded mosquitto.
    var broker: MQTTEndpoint?
    var listenHost = "127.0.0.1"
    var listenPort = 1883
    var dataDirectory = "./geomatch-data"
    /// `HOST:PORT`; nil for `off`.
    var http: String? = "127.0.0.1:8080"
    var datasets: [String] = []
    var autoCreateDatasets = true
    var administrators = ["admin"]
    var usersFile: String?
    var webhooksAllowPrivate = true
    var startTimeoutSeconds = 30.0
    var logLevel = Logger.Level.info
    var logFormat = LogFormat.text
    /// Empty, or ends with `/`.
    var topicsPrefix = ""
    var liveQoS = 0
    var liveInputQoS = 0
    var liveReaders = ["*"]
    var limits = HubLimits()
    var adapters: [AdapterRule] = []

    /// The names that no dataset may have, each with the adapter's filter that begins with it.
    var reservedDatasets: [String: String] {
        var reserved: [String: String] = [:]
        for adapter in adapters {
            if let name = adapter.reservedDataset(prefix: topicsPrefix), reserved[name] == nil { reserved[name] = adapter.filter }
        }
        return reserved
    }

    /// The embedded broker, reached from this machine only: whoever reaches it is trusted.
    var isTrustedLoopback: Bool { broker == nil && Self.isLoopback(listenHost) }

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
        case file(String)
    }

    var key: String
    var source: Source
    var problem: String

    var description: String {
        switch source {
        case .flag: "--\(key): \(problem)"
        case .environment: "\(SettingsKey.environmentName(key)): \(problem)"
        case .file(let path): "\(path): \(key.isEmpty ? "" : "\(key): ")\(problem)"
        }
    }
}
