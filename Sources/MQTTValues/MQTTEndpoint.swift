/// Where a broker is and how one is known to it.
public struct MQTTEndpoint: Sendable, Equatable {
    /// How the connection is encrypted.
    public struct TLS: Sendable, Equatable {
        /// Certificates that may have signed the broker's (PEM); without one, the system's (`/etc/ssl/certs`).
        public var caFile: String?
        /// The client's own certificate (PEM) and key, for brokers that ask for one. Both or none.
        public var certificateFile: String?
        public var keyFile: String?
        /// Accepts a certificate that names another host. For trying things out only.
        public var insecure: Bool

        public init(
            caFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil, insecure: Bool = false
        ) {
            self.caFile = caFile
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.insecure = insecure
        }
    }

    /// A host of a broker.
    public struct Host: Sendable, Equatable {
        public var name: String
        public var port: Int

        public init(name: String, port: Int) {
            self.name = name
            self.port = port
        }
    }

    /// A name or an address, IPv6 without brackets; empty where `unixPath` is used.
    public var host: String
    /// 1…65535.
    public var port: Int
    /// The further hosts of a clustered broker: a link uses any that answers.
    public var otherHosts: [Host] = []
    /// The path of a unix-domain listener; host, port and TLS are then not used. At most 107 bytes.
    public var unixPath: String?
    public var username: String?
    public var password: String?
    public var tls: TLS?

    public init(
        host: String, port: Int = 1883, username: String? = nil, password: String? = nil, tls: TLS? = nil
    ) {
        self.host = host
        self.port = port
        self.username = username
        self.password = password
        self.tls = tls
    }

    public init(unixPath: String) {
        self.init(host: "")
        self.unixPath = unixPath
    }

    /// All hosts, as they were given.
    public var hosts: [Host] { [Host(name: host, port: port)] + otherHosts }

    /// For logs: scheme, hosts and ports, or the socket's path; never credentials.
    public var name: String {
        if let unixPath { return "unix:\(unixPath)" }
        let shown = hosts.map { host in
            "\(host.name.utf8.contains(UInt8(ascii: ":")) ? "[\(host.name)]" : host.name):\(host.port)"
        }
        return "\(tls == nil ? "mqtt" : "mqtts")://\(shown.joined(separator: ","))"
    }
}
