import HTTPDoor

/// The keys of the configuration that are about HTTP.
struct HTTPSettings: Sendable {
    var host = "127.0.0.1"
    /// 0: the system chooses.
    var port = 8080
    /// Patterns of origins whose pages may use a trusted address, and read answers.
    var origins: [String] = []
    /// It is behind a proxy: no address is trusted.
    var isBehindProxy = false
    /// The match sockets of Matchmore's clients open with a key only.
    var matchSocketsNeedKeys = false
    /// PEM files, the certificate with its chain.
    var tls: (certificateFile: String, keyFile: String)?

    var listen: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension Settings {
    /// What the door is to know; nil where HTTP is off.
    var httpConfiguration: HTTPDoorConfiguration? {
        guard let http else { return nil }
        var configuration = HTTPDoorConfiguration()
        configuration.host = http.host
        configuration.port = http.port
        configuration.origins = OriginPatterns(http.origins)
        configuration.trustsLoopback = usersFile == nil && !http.isBehindProxy
        configuration.isBehindProxy = http.isBehindProxy
        configuration.keys = keys
        configuration.matchSocketsNeedKeys = http.matchSocketsNeedKeys
        configuration.limits = httpLimits
        configuration.broker = brokerAddress
        configuration.tellsDatasets = metricsPerDataset
        return configuration
    }

    /// Where other nodes of the cluster reach HTTP: as configured, else where it listens; nil: nowhere.
    var advertisedAddress: String? {
        guard let http else { return nil }
        if let httpAdvertised { return httpAdvertised }
        let isAny = http.host == "0.0.0.0" || http.host == "::"
        guard !Self.isLoopback(http.host), !isAny, http.port != 0 else { return nil }
        return "\(http.tls == nil ? "http" : "https")://\(http.listen)"
    }

    /// Where browsers speak MQTT; nil for an encrypted broker, which they reach by themselves.
    private var brokerAddress: BrokerAddress? {
        guard let broker else {
            let isAny = listenHost == "0.0.0.0" || listenHost == "::"
            return BrokerAddress(host: isAny ? "127.0.0.1" : listenHost, port: listenPort, asksWho: usersFile != nil)
        }
        return broker.tls == nil ? BrokerAddress(host: broker.host, port: broker.port, asksWho: broker.username != nil) : nil
    }

    /// Lines of the printed configuration.
    var httpLines: [String] {
        guard let http else { return ["http: \"off\""] }
        let files = http.tls.map { tls in
            [
                "  tls:", "    certificate-file: \(Self.quoted(tls.certificateFile))",
                "    key-file: \(Self.quoted(tls.keyFile))",
            ]
        }
        return [
            "http:", "  listen: \(Self.quoted(http.listen))", "  origins: \(Self.list(http.origins))",
            "  behind-proxy: \(http.isBehindProxy)",
            "  matchmore-socket-key: \(http.matchSocketsNeedKeys ? "required" : "optional")",
        ] + (files ?? [])
    }
}
