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
    /// What stands before each of geomatch's three topic trees, such as `site1/`; empty for nothing.
    public var topicsPrefix: String
    /// Topic filters of other ecosystems on which users may publish, too.
    public var adapterFilters: [String] = []
    /// The program; `nil` looks for `mosquitto` on PATH, in /usr/sbin and in /usr/local/sbin.
    public var executable: String?
    /// geomatch's plugin for mosquitto, which takes batches on the daemon's listener; `nil` does without.
    public var pluginFile: String?
    /// Seconds between two writings of its memory to disk. mosquitto writes everything each time.
    public var autosaveSeconds = 1
    /// Messages it holds for one client that is away or slow.
    public var queuedMessagesMaximum = 100_000
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

    /// `host:port`, as `--listen` has it.
    var listenAddress: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
