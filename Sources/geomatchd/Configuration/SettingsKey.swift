import Wire
import Records

/// Every key of the configuration: its name, what it takes, and whether only the file has it.
struct SettingsKey: Sendable {
    let name: String
    let takes: String
    let isFileOnly: Bool

    init(_ name: String, _ takes: String, fileOnly: Bool = false) {
        self.name = name
        self.takes = takes
        isFileOnly = fileOnly
    }

    /// `data-dir` is `GEOMATCH_DATA_DIR` in the environment.
    static func environmentName(_ key: String) -> String {
        "GEOMATCH_" + key.uppercased().replacing("-", with: "_").replacing(".", with: "_")
    }

    /// What somebody who wrote an unknown key may have meant: the nearest one, or all of its table, or all there are.
    static func advice(for key: String, among keys: [String]) -> String {
        // `data_dir` and `Data-Dir` are `data-dir`.
        let plain = key.lowercased().replacing("_", with: "-")
        if keys.contains(plain) { return "did you mean \(plain)?" }
        let tables = table(of: key) == nil ? Set(keys.compactMap(table(of:))).sorted() : []
        if let near = Nearness.nearest(to: key, of: keys + tables) { return "did you mean \(near)?" }
        let beside = keys.filter { table(of: $0) != nil && table(of: $0) == table(of: key) }
        return "the keys are \((beside.isEmpty ? keys : beside).joined(separator: ", "))"
    }

    /// What is before the last dot.
    private static func table(of key: String) -> String? { key.lastIndex(of: ".").map { String(key[..<$0]) } }

    static let all: [SettingsKey] = named + push + SettingsLimit.all.map { SettingsKey($0.key, $0.takes, fileOnly: true) }

    /// A limit of the embedded mosquitto, and no maximum of the hub.
    static let connections = "limits.connections"
    /// Likewise of the HTTP door.
    static let httpConnections = "limits.http-connections"
    static let connectionsAllowed = 1...1_000_000

    private static let named: [SettingsKey] = [
        SettingsKey("broker", "mqtt[s]://user:password@host:port"),
        SettingsKey("listen", "HOST:PORT"),
        SettingsKey("data-dir", "a directory"),
        SettingsKey("store", "postgres://user:password@host:port/database"),
        SettingsKey("cluster", "a name: 1 to 64 of A-Z a-z 0-9 . _ -"),
        SettingsKey("node", "a name: 1 to 64 of A-Z a-z 0-9 . _ -"),
        SettingsKey("http-advertise", "http[s]://HOST:PORT"),
        SettingsKey("http", "HOST:PORT or off, or in the file a table with listen, origins and behind-proxy"),
        SettingsKey("datasets", "names, comma-separated or a list"),
        SettingsKey("auto-create-datasets", "true or false"),
        SettingsKey("admins", "patterns of a client or of dataset/client, comma-separated or a list"),
        SettingsKey("users", "a mosquitto password file"),
        SettingsKey("webhooks-allow-private", "true or false"),
        SettingsKey("start-timeout", "seconds, 1 to 3600"),
        SettingsKey("log-level", "trace, debug, info, notice, warning (or warn) or error"),
        SettingsKey("log-format", "text or json"),
        SettingsKey("listen-tls.listen", "HOST:PORT", fileOnly: true),
        SettingsKey("listen-tls.certificate-file", "a PEM file", fileOnly: true),
        SettingsKey("listen-tls.key-file", "a PEM file", fileOnly: true),
        SettingsKey("http.listen", "HOST:PORT or off", fileOnly: true),
        SettingsKey(
            "http.origins", "origins such as https://map.example.org, comma-separated or a list; * is any run", fileOnly: true),
        SettingsKey("http.behind-proxy", "true or false", fileOnly: true),
        SettingsKey("http.matchmore-socket-key", "required or optional", fileOnly: true),
        SettingsKey("http.tls.certificate-file", "a PEM file", fileOnly: true),
        SettingsKey("http.tls.key-file", "a PEM file", fileOnly: true),
        SettingsKey("metrics.per-dataset", "true or false", fileOnly: true),
        SettingsKey("page.tiles.url", "https://… with {z}, {x} and {y}", fileOnly: true),
        SettingsKey("page.tiles.attribution", "a text", fileOnly: true),
        SettingsKey("page.mbtiles", "an MBTiles file", fileOnly: true),
        SettingsKey("home-assistant.datasets", "patterns of datasets, comma-separated or a list", fileOnly: true),
        SettingsKey("home-assistant.prefix", "one or two topic levels", fileOnly: true),
        SettingsKey("keys", "a list of entries with key, dataset and client", fileOnly: true),
        SettingsKey("tls.ca-file", "a PEM file", fileOnly: true),
        SettingsKey("tls.certificate-file", "a PEM file", fileOnly: true),
        SettingsKey("tls.key-file", "a PEM file", fileOnly: true),
        SettingsKey("topics.prefix", "topic levels before each tree", fileOnly: true),
        SettingsKey("live.qos", "0 or 1", fileOnly: true),
        SettingsKey("live.input-qos", "0 or 1", fileOnly: true),
        SettingsKey("live.shared-memory", "true or false", fileOnly: true),
        SettingsKey("live.readers", "client patterns, comma-separated or a list", fileOnly: true),
        SettingsKey(
            connections, "\(connectionsAllowed.lowerBound) to \(connectionsAllowed.upperBound)", fileOnly: true),
        SettingsKey(
            httpConnections, "\(connectionsAllowed.lowerBound) to \(connectionsAllowed.upperBound)", fileOnly: true),
        SettingsKey(
            "access", "a list of entries with users, datasets, read and write (each all, own or none)", fileOnly: true),
        SettingsKey("adapters", "a list of entries with \(AdapterRule.keys.joined(separator: ", "))", fileOnly: true),
    ]
}
