import Configuration
import Datasets
import LiveTopics
import Logging
import MQTTLink
import PostgresStore
import Wire
import Records

/// Reads the configuration: flag before environment before file before default.
struct SettingsReader {
    private var layers: [(source: SettingsError.Source, reader: ConfigReader)]
    let file: ConfigurationFile?
    /// The access list of a broker of one's own is written out for the names of a users file.
    private let isForAccessList: Bool
    /// Those that begin as the daemon's do.
    private let variables: [String]

    /// Variables of the command-line client, which are none of the daemon's and no mistake.
    private static let clientVariables = ["GEOMATCH_CONTEXT", "GEOMATCH_DATASET", "GEOMATCH_CLIENT", "GEOMATCH_TOPICS_PREFIX"]
    /// Variables of the tests.
    private static let testVariables = "GEOMATCH_TEST_"

    /// - Parameters:
    ///   - flags: Key to value, of the flags that were given.
    ///   - environment: The process's environment.
    ///   - isForAccessList: Nothing is started: `users` may be given beside `broker`.
    init(flags: [String: String], environment: [String: String], file: ConfigurationFile?, isForAccessList: Bool = false) {
        self.isForAccessList = isForAccessList
        layers = [
            (.flag, Self.reader(flags)),
            (
                .environment,
                Self.reader(
                    Dictionary(
                        uniqueKeysWithValues: SettingsKey.all.compactMap { key in
                            key.isFileOnly ? nil : environment[SettingsKey.environmentName(key.name)].map { (key.name, $0) }
                        }))
            ),
        ]
        self.file = file
        variables = environment.keys.filter { $0.hasPrefix("GEOMATCH_") }.sorted()
        if let file { layers.append((.file(file.path), Self.reader(file.values))) }
    }

    private static func reader(_ values: [String: String]) -> ConfigReader {
        let entries = values.map {
            (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: Self.secrets.contains($0.key)))
        }
        return ConfigReader(provider: InMemoryProvider(values: Dictionary(uniqueKeysWithValues: entries)))
    }

    func settings() throws(SettingsError) -> Settings {
        var settings = Settings()
        try checkVariables()
        try checkBrokerAlone()
        settings.broker = try value("broker", parse: Self.endpoint)
        settings.store = try value("store") { PostgresAddress($0) }
        try readTLS(into: &settings)
        if let (host, port) = try value("listen", parse: Self.hostAndPort) {
            settings.listenHost = host
            settings.listenPort = port
        }
        settings.dataDirectory = try value("data-dir") { $0.isEmpty ? nil : $0 } ?? settings.dataDirectory
        settings.datasets = try value("datasets", parse: Self.datasets) ?? []
        settings.administrators = try value("admins", parse: Self.list) ?? settings.administrators
        settings.usersFile = try value("users") { $0.isEmpty ? nil : $0 }
        settings.encryptedListener = try readEncryptedListener(beside: settings)
        try readHTTP(into: &settings)
        try readCluster(into: &settings)
        settings.autoCreateDatasets = try value("auto-create-datasets", parse: Self.boolean) ?? settings.isTrustedLoopback
        settings.webhooksAllowPrivate = try value("webhooks-allow-private", parse: Self.boolean) ?? settings.isTrustedLoopback
        settings.push = try readPush(settings)
        settings.startTimeoutSeconds =
            try value("start-timeout") { Double($0).flatMap { (1...3600).contains($0) ? $0 : nil } }
            ?? settings.startTimeoutSeconds
        settings.logLevel = try value("log-level") { Self.logLevel($0) } ?? settings.logLevel
        settings.logFormat = try value("log-format") { Settings.LogFormat(rawValue: $0) } ?? settings.logFormat
        settings.topicsPrefix = try value("topics.prefix", parse: Self.topicPrefix) ?? ""
        settings.liveQoS = try integer("live.qos", 0...1) ?? settings.liveQoS
        settings.liveInputQoS = try integer("live.input-qos", 0...1) ?? settings.liveInputQoS
        settings.liveSharesMemory = try value("live.shared-memory", parse: Self.boolean) ?? settings.liveSharesMemory
        settings.liveReaders = try value("live.readers", parse: Self.list) ?? settings.liveReaders
        settings.access = try readAccess()
        try readLimits(into: &settings.limits)
        settings.connectionsMaximum =
            try integer(SettingsKey.connections, SettingsKey.connectionsAllowed) ?? settings.connectionsMaximum
        settings.metricsPerDataset = try value("metrics.per-dataset", parse: Self.boolean) ?? settings.metricsPerDataset
        settings.tiles = try readTiles()
        settings.homeAssistant = try readHomeAssistant(beside: settings)
        settings.httpLimits.connections =
            try integer(SettingsKey.httpConnections, SettingsKey.connectionsAllowed) ?? settings.httpLimits.connections
        settings.adapters = try readAdapters(settings)
        try checkListeners(settings)
        settings.warnings += warnings(of: settings)
        return settings
    }

    /// The entries, none of whose filters overlaps with another or with what the daemon reads itself.
    private func readAdapters(_ settings: Settings) throws(SettingsError) -> [AdapterRule] {
        guard let file else { return [] }
        var rules: [AdapterRule] = []
        for (index, entry) in file.adapters.enumerated() {
            do throws(AdapterRule.Problem) {
                rules.append(try AdapterRule(entry))
            } catch {
                let key = "adapters[\(index)]" + (error.key.isEmpty ? "" : "." + error.key)
                throw SettingsError(key: key, source: .file(file.path), problem: error.text, isAlone: true)
            }
        }
        if let (index, problem) = AdapterRule.overlap(in: rules, prefix: settings.topicsPrefix, datasets: settings.datasets) {
            throw SettingsError(key: "adapters[\(index)].filter", source: .file(file.path), problem: problem, isAlone: true)
        }
        return rules
    }

    private func readLimits(into limits: inout HubLimits) throws(SettingsError) {
        for limit in SettingsLimit.all {
            if let value = try integer(limit.key, limit.allowed) { limits[keyPath: limit.path] = value }
        }
    }

    private func readTLS(into settings: inout Settings) throws(SettingsError) {
        let file: (String) -> String? = { $0.isEmpty ? nil : $0 }
        let authority = try value("tls.ca-file", parse: file)
        let certificate = try value("tls.certificate-file", parse: file)
        let key = try value("tls.key-file", parse: file)
        guard authority != nil || certificate != nil || key != nil else { return }
        guard settings.broker?.tls != nil else {
            let given = authority != nil ? "tls.ca-file" : certificate != nil ? "tls.certificate-file" : "tls.key-file"
            throw error(given, "is for a broker whose URL begins with mqtts://")
        }
        settings.broker?.tls = MQTTEndpoint.TLS(caFile: authority, certificateFile: certificate, keyFile: key)
    }

    private func readCluster(into settings: inout Settings) throws(SettingsError) {
        settings.cluster = try value("cluster") { Name.isClient($0) ? $0 : nil }
        settings.node = try value("node") { Name.isClient($0) ? $0 : nil }
        settings.httpAdvertised = try value("http-advertise") { Self.advertised($0) }
        guard settings.cluster != nil else {
            for key in ["node", "http-advertise"] where raw(key) != nil {
                throw together(key, "is for a node of a cluster: give --cluster NAME, too")
            }
            return
        }
        guard settings.store != nil else {
            throw together("cluster", "its nodes share a PostgreSQL database: give --store postgres://…, too")
        }
        guard settings.broker != nil else {
            throw together("cluster", "its nodes share a broker: give --broker mqtt://…, too")
        }
    }

    private func together(_ key: String, _ problem: String) -> SettingsError {
        SettingsError(key: key, source: .together, problem: problem)
    }

    /// `http://10.0.0.1:8080`, without the slash that may follow it.
    private static func advertised(_ text: String) -> String? {
        let text = text.hasSuffix("/") ? String(text.dropLast()) : text
        for scheme in ["http://", "https://"] where text.hasPrefix(scheme) {
            return hostAndPort(String(text.dropFirst(scheme.count))) == nil ? nil : text
        }
        return nil
    }

    // MARK: The listeners

    /// A variable that is almost one of the daemon's would be ignored without a word.
    private func checkVariables() throws(SettingsError) {
        let known = SettingsKey.all.filter { !$0.isFileOnly }.map { SettingsKey.environmentName($0.name) } + ["GEOMATCH_CONFIG"]
        for name in variables where !known.contains(name) && !Self.clientVariables.contains(name) {
            if name.hasPrefix(Self.testVariables) || name == "GEOMATCH_KILLS" { continue }
            let advice =
                if let key = SettingsKey.all.first(where: { SettingsKey.environmentName($0.name) == name }) {
                    "`\(key.name)` is a key of the configuration file only"
                } else if let near = Nearness.nearest(to: String(name.dropFirst(9)), of: known.map { String($0.dropFirst(9)) }) {
                    "did you mean GEOMATCH_\(near)?"
                } else {
                    "the variables are \(known.joined(separator: ", "))"
                }
            throw SettingsError(
                key: "", source: .variable(name), problem: "there is no such variable; \(advice)", isAlone: true)
        }
    }

    /// A broker to use contradicts what the embedded one listens at and who may log in there; a file may have both, as a list of
    /// what could be.
    private func checkBrokerAlone() throws(SettingsError) {
        guard let broker = raw("broker") else { return }
        for embedded in isForAccessList ? ["listen"] : ["listen", "users"] {
            guard let source = raw(embedded)?.source, !source.isFile, !broker.source.isFile else { continue }
            let key = broker.source == .flag || source != .flag ? "broker" : embedded
            throw SettingsError(
                key: key, source: key == "broker" ? broker.source : source,
                problem: contradiction(embedded, beside: key == "broker" ? embedded : "broker"))
        }
    }

    private func contradiction(_ embedded: String, beside other: String) -> String {
        let name = raw(other)?.source == .environment ? "GEOMATCH_\(other.uppercased())" : "--\(other)"
        let what = embedded == "listen" ? "where the embedded one listens" : "who may log in at the embedded one"
        return "`broker` names a broker to use and `\(embedded)` \(what): leave one out (\(name) is given, too)"
    }

    private func readEncryptedListener(
        beside settings: Settings
    ) throws(SettingsError) -> EmbeddedBrokerConfiguration.EncryptedListener? {
        let file: (String) -> String? = { $0.isEmpty ? nil : $0 }
        let place = try value("listen-tls.listen", parse: Self.hostAndPort)
        let certificate = try value("listen-tls.certificate-file", parse: file)
        let key = try value("listen-tls.key-file", parse: file)
        if place == nil, certificate == nil, key == nil { return nil }
        let name = place != nil ? "listen-tls.listen" : certificate != nil ? "listen-tls.certificate-file" : "listen-tls.key-file"
        guard let place, let certificate, let key else {
            throw error(name, "listen-tls has three keys, of which one is missing: listen, certificate-file, key-file")
        }
        guard place.1 != settings.listenPort else { throw error(name, "`listen` has this port, too: choose another") }
        return EmbeddedBrokerConfiguration.EncryptedListener(
            host: place.0, port: place.1, certificateFile: certificate, keyFile: key)
    }

    /// A client that reaches a listener without users is trusted: only this machine may reach one.
    private func checkListeners(_ settings: Settings) throws(SettingsError) {
        guard settings.broker == nil, settings.usersFile == nil else { return }
        let hosts =
            [("listen", settings.listenHost)] + (settings.encryptedListener.map { [("listen-tls.listen", $0.host)] } ?? [])
        for (key, host) in hosts where !Settings.isLoopback(host) {
            throw error(
                key,
                "\(host) is reached from other machines, where everybody would be trusted: give --users FILE (made with mosquitto_passwd), listen on 127.0.0.1, or use a broker of yours with --broker URL"
            )
        }
    }

    private func warnings(of settings: Settings) -> [String] {
        var warnings: [String] = []
        if settings.broker == nil, !Settings.isLoopback(settings.listenHost) {
            warnings.append(
                "\(settings.listenHost):\(settings.listenPort) is reached from other machines without encryption: passwords and positions can be read on the way; add listen-tls and listen on 127.0.0.1"
            )
        }
        if settings.broker != nil, settings.usersFile != nil {
            warnings.append(
                "users is for the embedded broker: the one of `broker` has logins and an access list of its own; here it only has HTTP ask for keys"
            )
        }
        if settings.broker?.username != nil, settings.httpConfiguration?.trustsLoopback == true {
            warnings.append(
                "the broker asks for logins, and HTTP trusts everybody on this machine as any client, also as an administrator: `users` in the file has it ask for keys, `http: off` closes it"
            )
        }
        if settings.broker?.password != nil, raw("broker")?.source == .flag {
            warnings.append(
                "the password in --broker is seen in the list of processes: give the URL as GEOMATCH_BROKER, or as `broker` in the file"
            )
        }
        if settings.store?.hasPassword == true, raw("store")?.source == .flag {
            warnings.append(
                "the password in --store is seen in the list of processes: give the URL as GEOMATCH_STORE, or as `store` in the file"
            )
        }
        for (index, key) in settings.keys.enumerated() where key.key.utf8.count < 8 {
            warnings.append("keys[\(index)].key has fewer than 8 characters and can be guessed: use a longer one")
        }
        return warnings
    }

    /// URLs with passwords in them.
    private static let secrets = ["broker", "store"]

    // MARK: Access

    private func readAccess() throws(SettingsError) -> [AccessRules.Entry]? {
        guard let file, let access = file.access else { return nil }
        var entries: [AccessRules.Entry] = []
        for (index, members) in access.enumerated() {
            func wrong(_ key: String, _ problem: String) -> SettingsError {
                SettingsError(
                    key: "access[\(index)]" + (key.isEmpty ? "" : ".\(key)"), source: .file(file.path), problem: problem,
                    isAlone: true)
            }
            var entry = AccessRules.Entry(users: [])
            for (key, value) in members {
                switch key {
                case "users", "datasets":
                    guard let patterns = Self.list(value), !patterns.isEmpty, patterns.allSatisfy(Self.isNamePattern) else {
                        throw wrong(
                            key, "`\(value.prefix(80))` was read, allowed is a pattern or a list: names in which * is any run")
                    }
                    if key == "users" { entry.users = patterns } else { entry.datasets = patterns }
                case "read", "write":
                    guard let reach = AccessRules.Reach(rawValue: value) else {
                        throw wrong(key, "`\(value.prefix(80))` was read, allowed is all, own or none")
                    }
                    if key == "read" { entry.read = reach } else { entry.write = reach }
                default:
                    let keys = ["users", "datasets", "read", "write"]
                    throw wrong(key, "there is no such key; \(SettingsKey.advice(for: key, among: keys))")
                }
            }
            guard !entry.users.isEmpty else { throw wrong("users", "is missing: a pattern of clients, \"*\" for all") }
            entries.append(entry)
        }
        return entries
    }

    /// A client's or dataset's name in which `*` matches any run of characters.
    static func isNamePattern(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
                    UInt8(ascii: "*"):
                    true
                default: false
                }
            }
    }

    // MARK: One value

    func raw(_ key: String) -> (text: String, source: SettingsError.Source)? {
        for (source, reader) in layers {
            if let text = reader.string(forKey: ConfigKey([key])) { return (text, source) }
        }
        return nil
    }

    func value<Value>(_ key: String, parse: (String) -> Value?) throws(SettingsError) -> Value? {
        guard let (text, source) = raw(key) else { return nil }
        if let value = parse(text) { return value }
        let takes = SettingsKey.all.first { $0.name == key }?.takes ?? ""
        let shown = Self.secrets.contains(key) ? "the URL cannot be used" : "`\(text.prefix(80))` was read"
        // A port alone, as other servers take it.
        let isPort = takes.hasPrefix("HOST:PORT") && UInt16(text) != nil
        let advice = isPort ? "; try 127.0.0.1:\(text)" : ""
        throw SettingsError(key: key, source: source, problem: "\(shown), allowed is \(takes)\(advice)", isAlone: true)
    }

    func integer(_ key: String, _ range: ClosedRange<Int>) throws(SettingsError) -> Int? {
        try value(key) { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// The endpoint's own text says what is wrong with it.
    private func value(
        _ key: String, parse: (String) throws(MQTTEndpointError) -> MQTTEndpoint
    ) throws(SettingsError) -> MQTTEndpoint? {
        guard let (text, source) = raw(key) else { return nil }
        do throws(MQTTEndpointError) {
            return try parse(text)
        } catch {
            throw SettingsError(key: key, source: source, problem: error.description, isAlone: true)
        }
    }

    func error(_ key: String, _ problem: String) -> SettingsError {
        SettingsError(key: key, source: raw(key)?.source ?? .flag, problem: problem)
    }

    // MARK: Forms

    private static func endpoint(_ text: String) throws(MQTTEndpointError) -> MQTTEndpoint { try MQTTEndpoint(url: text) }

    static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "on": true
        case "false", "no", "off": false
        default: nil
        }
    }

    static func list(_ text: String) -> [String]? {
        if text.allSatisfy(\.isWhitespace) { return [] }
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map { item in
            String(item.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        }
        return items.contains("") ? nil : items
    }

    private static func datasets(_ text: String) -> [String]? {
        list(text).flatMap { names in names.allSatisfy(Name.isDataset) ? names : nil }
    }

    static func hostAndPort(_ text: String) -> (String, Int)? { hostAndPort(text, allowsAny: false) }

    /// `127.0.0.1:1883`, `[::1]:1883`, `localhost:1883`.
    ///
    /// - Parameter allowsAny: Port 0 is one that the system chooses.
    static func hostAndPort(_ text: String, allowsAny: Bool) -> (String, Int)? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ (48...57).contains($0) }), let port = Int(digits),
            ((allowsAny ? 0 : 1)...65_535).contains(port)
        else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        // It is written into the embedded broker's configuration, one word of one line.
        let isWord = host.unicodeScalars.allSatisfy { scalar in
            scalar.value > 32 && scalar.value != 127 && !scalar.properties.isWhitespace
                && !"[]\"\\/#".unicodeScalars.contains(scalar)
        }
        return host.isEmpty || !isWord ? nil : (host, port)
    }

    private static func logLevel(_ text: String) -> Logger.Level? {
        switch text {
        case "warn": .warning
        case "critical": nil
        default: Logger.Level(rawValue: text)
        }
    }

    /// Levels without wildcards, that cannot be taken for one of the trees.
    private static func topicPrefix(_ text: String) -> String? {
        let trimmed = text.hasSuffix("/") ? String(text.dropLast()) : text
        if trimmed.isEmpty { return "" }
        let levels = trimmed.split(separator: "/", omittingEmptySubsequences: false)
        guard trimmed.utf8.count <= 200, !levels.contains(""), !trimmed.hasPrefix("$"),
            !trimmed.unicodeScalars.contains(where: { $0 == "+" || $0 == "#" || $0.value < 32 })
        else { return nil }
        return trimmed + "/"
    }
}
