public import Foundation
internal import LiveTopics
package import MQTTValues

/// Where the broker is, who you are, and how patient.
public struct GeomatchConfiguration: Sendable {
    /// Certificates, for brokers with `mqtts://`.
    public struct TLS: Sendable, Equatable {
        /// Certificates that may have signed the broker's (PEM); without one, the system's.
        public var caFile: String?
        /// Your own certificate (PEM) and its key, for brokers that ask for one. Both or none.
        public var certificateFile: String?
        public var keyFile: String?

        public init(caFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) {
            self.caFile = caFile
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// `mqtt://user:password@host:port` or `mqtts://…`; user and password percent-encoded; scheme and port may be left out. With
    /// `http://client:key@host:port` or `https://…` the daemon's own WebSocket is used instead of a broker.
    public var broker: String
    /// The dataset everything is about.
    public var dataset: String
    /// The name you are known by; a level of your topics, so that the broker's access list can guard it.
    public var client: String
    /// The prefix of every topic (`topics.prefix` of the daemon); none by default.
    public var topicsPrefix = ""
    public var tls: TLS?
    /// How long a request may take, reconnecting included. Default 30 s.
    public var requestTimeout: Duration = .seconds(30)
    /// Seconds between signs of life to the broker, 5…65535. Default 30.
    public var keepAliveSeconds = 30
    /// An address that has not answered for so long counts as unreachable. Default 10 s.
    public var connectTimeout: Duration = .seconds(10)
    /// How long the daemon keeps a live subscription that is not renewed, 1…86,400 s; renewed at half of it. Default 3600.
    public var leaseSeconds = 3600
    /// Elements a sequence or a delegate may be behind before the oldest are left out. Default 10,000.
    public var bufferSize = 10_000

    /// - Parameters:
    ///   - broker: `mqtt[s]://[user[:password]@]host[:port]`
    ///   - client: Default: the user in `broker`.
    public init(broker: String, dataset: String, client: String? = nil) {
        self.broker = broker
        self.dataset = dataset
        self.client = client ?? (try? Self.endpoint(of: broker))?.username ?? ""
    }

    public init(broker: URL, dataset: String, client: String? = nil) {
        self.init(broker: broker.absoluteString, dataset: dataset, client: client)
    }

    /// The connection of one command, which somebody waits for: what is not there at first ends it instead of being waited for,
    /// the daemon checks the names, and replies are subscribed to with the first request.
    package var isForCommand = false
    /// Called each time a connection is lost, or not reached again; on the connection's thread.
    package var connectionLost: (@Sendable (GeomatchError) -> Void)?

    /// A daemon in memory instead of a broker.
    var fake: GeomatchFake?

    /// Waiting times between tries, seconds: full jitter between 0 and min(maximum, minimum · 2ⁿ).
    var backoff = (minimum: 0.5, maximum: 30.0)

    /// The daemon is reached by its own WebSocket.
    package var isHTTP: Bool { Self.address(of: broker) != nil }

    /// The text behind `http://` or `https://`, and the port that is meant without one; nil for another scheme.
    private static func address(of url: String) -> (rest: Substring, isEncrypted: Bool)? {
        for (prefix, isEncrypted) in [("https://", true), ("http://", false)]
        where url.prefix(prefix.count).lowercased() == prefix {
            return (url.dropFirst(prefix.count), isEncrypted)
        }
        return nil
    }

    /// Reads a broker's address, or the daemon's own.
    package static func endpoint(of url: String) throws(MQTTEndpointError) -> MQTTEndpoint {
        guard let (rest, isEncrypted) = address(of: url) else { return try MQTTEndpoint(url: url) }
        var endpoint = try MQTTEndpoint(url: (isEncrypted ? "mqtts://" : "mqtt://") + rest)
        // Without a port MQTT's own is read, which differs by the scheme.
        let other = try MQTTEndpoint(url: (isEncrypted ? "mqtt://" : "mqtts://") + rest)
        guard endpoint.otherHosts.isEmpty else { throw .host(endpoint.hosts.map(\.name).joined(separator: ",")) }
        if endpoint.port != other.port { endpoint.port = isEncrypted ? 443 : 80 }
        return endpoint
    }

    /// - Throws: `invalid` with the field that cannot be used.
    func endpoint() throws(GeomatchError) -> MQTTEndpoint {
        guard isForCommand || Name.isDataset(dataset) else {
            throw GeomatchError(.invalid, "\"\(dataset)\" cannot be a dataset: 1 to 64 of A-Z a-z 0-9 . _ -", field: "dataset")
        }
        guard (1...86_400).contains(leaseSeconds) else {
            throw GeomatchError(.invalid, "a lease is 1 to 86400 seconds, not \(leaseSeconds)", field: "leaseSeconds")
        }
        if !topicsPrefix.isEmpty {
            do throws(TopicFilterError) {
                try TopicFilter.validateTopic(topicsPrefix)
            } catch {
                throw GeomatchError(.invalid, error.message, field: "topicsPrefix")
            }
        }
        var endpoint: MQTTEndpoint
        do throws(MQTTEndpointError) {
            endpoint = try Self.endpoint(of: broker)
        } catch {
            throw GeomatchError(.invalid, error.description, field: "broker")
        }
        // The broker first: without its user there may be no client.
        guard isForCommand || !client.isEmpty else {
            throw GeomatchError(.invalid, "name a client: `broker` has no user whose name it could take", field: "client")
        }
        guard isForCommand || Name.isClient(client) else {
            throw GeomatchError(
                .invalid, "\"\(client)\" cannot be a client: 1 to 64 of A-Z a-z 0-9 . _ -, not diagnostics or status",
                field: "client")
        }
        guard let tls else { return endpoint }
        guard endpoint.tls != nil else {
            throw GeomatchError(.invalid, "certificates need a broker with mqtts://, or https://", field: "tls")
        }
        endpoint.tls = MQTTEndpoint.TLS(caFile: tls.caFile, certificateFile: tls.certificateFile, keyFile: tls.keyFile)
        return endpoint
    }
}

extension GeomatchConfiguration {
    package var topics: ClientTopics { ClientTopics(self) }
    /// The broker's address without a password.
    package var brokerName: String {
        guard let name = (try? Self.endpoint(of: broker))?.name, isHTTP else {
            return (try? Self.endpoint(of: broker))?.name ?? ""
        }
        return name.replacing("mqtt", with: "http", maxReplacements: 1)
    }
}

extension Duration {
    /// `10 s`, `0.3 s`
    package var text: String {
        let tenths = (milliseconds + 50) / 100
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }

    /// Whole milliseconds, at least 0, within ten years.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < 315_360_000 else { return 315_360_000_000 }
        return max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
