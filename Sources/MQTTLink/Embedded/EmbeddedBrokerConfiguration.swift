/// The daemon's own mosquitto: where it listens and what it keeps.
public struct EmbeddedBrokerConfiguration: Sendable {
    /// Its files are below `<dataDirectory>/broker`, which belongs to it alone.
    public var dataDirectory: String
    /// The TCP listener. A name or an address, IPv6 without brackets.
    public var host: String
    /// 1…65535.
    public var port: Int
    /// A mosquitto password file; without one everybody who reaches the TCP listener is trusted.
    public var usersFile: String?
    /// The prefix of each of geomatch's three topic trees, such as `site1/`; empty for nothing.
    public var topicsPrefix: String
    /// Topic filters of other ecosystems on which users may publish, too.
    public var adapterFilters: [String] = []
    /// The program; `nil` looks for `mosquitto` on PATH, in /usr/sbin and in /usr/local/sbin.
    public var executable: String?
    /// geomatch's plugin for mosquitto, which takes batches on the daemon's listener; `nil` does without.
    public var pluginFile: String?
    /// Where the plugin puts live updates for the daemon; `nil`: they come over MQTT.
    public var ring: LiveRing?
    /// A second listener for everybody, with TLS.
    public struct EncryptedListener: Equatable, Sendable {
        public var host: String
        public var port: Int
        /// PEM, with the chain.
        public var certificateFile: String
        /// PEM.
        public var keyFile: String

        public init(host: String, port: Int, certificateFile: String, keyFile: String) {
            self.host = host
            self.port = port
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    public var encryptedListener: EncryptedListener?
    /// What each user may see and publish of live data; `nil` for everything.
    public var grants: (@Sendable (_ user: String) -> [AccessList.Grant])?
    /// Where Home Assistant discovers; nil: nowhere.
    public var discoveryPrefix: String?
    /// Patterns of the datasets that it announces.
    public var discoveryDatasets: [String] = []
    /// Seconds between two writings of its memory to disk at least, and bytes of it a second at most: mosquitto writes everything
    /// each time, and does nothing else meanwhile.
    public var savesSeconds = 1
    public var savedBytesPerSecond = 2 << 20
    /// Messages it holds for one client that is away or slow, and their bytes.
    public var queuedMessagesMaximum = 100_000
    public var queuedBytesMaximum = 64 << 20
    /// Bytes of all sessions and retained messages from which on it keeps nothing more for clients. With the plugin.
    public var memoryBytesMaximum = 1 << 30
    /// Days after which the session of a client that is away ends.
    public var sessionDaysMaximum = 30
    /// Connections on each listener for everybody.
    public var connectionsMaximum = 10_000
    /// Seconds a connection has to log in. With the plugin; without it 90.
    public var loginSeconds = 10
    /// Gets each line mosquitto writes, without its end, and what the supervisor does. On the supervisor's thread.
    public var log: @Sendable (String) -> Void

    public init(
        dataDirectory: String, host: String = "127.0.0.1", port: Int = 1883, usersFile: String? = nil,
        topicsPrefix: String = "", log: @escaping @Sendable (String) -> Void
    ) {
        self.dataDirectory = dataDirectory
        self.host = host
        self.port = port
        self.usersFile = usersFile
        self.topicsPrefix = topicsPrefix
        self.log = log
    }

    var addresses: [ListenAddress] {
        [ListenAddress(host: host, port: port)] + (encryptedListener.map { [ListenAddress(host: $0.host, port: $0.port)] } ?? [])
    }

    func accessList(_ users: [String]) -> AccessList {
        var list = AccessList(prefix: topicsPrefix, users: users, adapterFilters: adapterFilters, grants: grants)
        list.discoveryPrefix = discoveryPrefix
        list.discoveryDatasets = discoveryDatasets
        return list
    }
}
