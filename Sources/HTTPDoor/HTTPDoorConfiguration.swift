import Datasets

/// What an operator decides about HTTP.
public struct HTTPDoorConfiguration: Sendable {
    public var host = "127.0.0.1"
    /// 0: the system chooses.
    public var port = 8080
    public var tls: HTTPCertificate?
    /// Whose pages may use a trusted address, and read answers.
    public var origins = OriginPatterns([])
    /// A request from this machine needs no key.
    public var trustsLoopback = true
    /// The last `X-Forwarded-For` is the address of the caller.
    public var isBehindProxy = false
    public var keys: [FileKey] = []
    /// The match sockets of Matchmore's clients open with a key only, which those clients do not send.
    public var matchSocketsNeedKeys = false
    public var limits = HTTPLimits()
    /// Which live topics of a dataset a client may publish.
    public var writes: @Sendable (_ dataset: String, _ client: String) -> LiveReach = { _, _ in .all }

    /// Other nodes have some of the datasets; nil: there is only this one.
    public var forwarding: Forwarding?
    /// Whether the datasets are still this node's: else matches and events wait.
    public var mayNotify: @Sendable () -> Bool = { true }
    /// Keys that requests made at other cores of the cluster; nil: there are none.
    public var storedKeys: StoredKeys?
    /// Where `/mqtt` leads; nil: nowhere.
    public var broker: BrokerAddress?
    /// Metrics say of which dataset.
    public var tellsDatasets = true
    /// How large the store is.
    public var storeBytes: @Sendable () -> Int? = { nil }
    /// Where messages are kept for those who resume; nil: not beyond this life.
    public var folder: String?
    public var page = PageConfiguration()
    /// The daemon's.
    public var version = ""

    public init() {}
}

/// The broker as browsers reach it through the door, without encryption in between.
public struct BrokerAddress: Equatable, Sendable {
    public var host: String
    public var port: Int
    /// The broker asks everybody who they are; else only who is trusted here may reach it.
    public var asksWho: Bool

    public init(host: String, port: Int, asksWho: Bool) {
        self.host = host
        self.port = port
        self.asksWho = asksWho
    }
}

/// A key of the configuration file.
public struct FileKey: Equatable, Sendable {
    public var key: String
    /// `*`: all.
    public var dataset: String
    public var client: String

    public init(key: String, dataset: String, client: String) {
        self.key = key
        self.dataset = dataset
        self.client = client
    }
}

/// The maxima of HTTP, each refused beyond.
public struct HTTPLimits: Equatable, Sendable {
    /// All together: 503.
    public var connections = 10_000
    /// Of one address beyond loopback: 503.
    public var connectionsPerAddress = 1000
    /// Of a request's head: 431.
    public var headBytes = 16 << 10
    /// Headers of a request: 431.
    public var headFields = 100
    /// Of any body but a file's: 413.
    public var bodyBytes = 1 << 20
    /// Of all bodies that are being read: 503.
    public var bodiesBytes = 128 << 20
    /// A head must be complete so long after its first byte, and a body may pause so long.
    public var patienceSeconds: Int64 = 30
    /// So long a connection may be without a request, or a reader may take nothing of an answer.
    public var idleSeconds: Int64 = 120
    /// So long a request waits for its reply: 503.
    public var replySeconds: Int64 = 60

    public init() {}
}

/// Patterns of origins, in which `*` is any run of characters.
public struct OriginPatterns: Equatable, Sendable {
    public let patterns: [String]

    public init(_ patterns: [String]) { self.patterns = patterns }

    func allow(_ origin: String) -> Bool {
        patterns.contains { Self.matches(Array($0.lowercased().utf8), Array(origin.lowercased().utf8.prefix(512))) }
    }

    /// Greedy, in linear space: a star that fails takes one more byte.
    private static func matches(_ pattern: [UInt8], _ text: [UInt8]) -> Bool {
        var (p, t, star, resume) = (0, 0, -1, 0)
        while t < text.count {
            if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
                star = p
                resume = t
                p += 1
            } else if p < pattern.count, pattern[p] == text[t] {
                p += 1
                t += 1
            } else if star >= 0 {
                resume += 1
                (p, t) = (star + 1, resume)
            } else {
                return false
            }
        }
        return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
