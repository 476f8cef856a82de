/// Why the text of a broker's address, or the files it names, cannot be used. No text ever holds a password.
public enum MQTTEndpointError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The scheme is not `mqtt`, `mqtts` or `tcp`.
    case scheme(String)
    /// There is no host.
    case hostMissing
    /// The host is not a name, an IPv4 address or a bracketed IPv6 address.
    case host(String)
    /// The port is not a number from 1 to 65535.
    case port(String)
    /// `%` is not followed by two hex digits, or the bytes are not UTF-8; `part` is `user`, `password` or `host`.
    case encoding(part: String)
    /// Something follows the port: an MQTT address has no path, query or fragment.
    case trailing(String)
    /// A control character or a NUL where none can be.
    case character(part: String)
    /// A TLS file cannot be read; `role` says which one.
    case file(role: String, path: String, reason: String)
    /// A client certificate without its key, or the other way round.
    case certificatePair
    /// The system has no memory or no file for one more connection.
    case resources(reason: String)

    public var description: String {
        switch self {
        case .scheme(let read):
            "a broker is written host:port, mqtt://host:port or mqtts://host:port; the scheme \"\(read)\" is another"
        case .hostMissing: "the broker's address has no host; write mqtt://host:port"
        case .host(let read): "\"\(read)\" is not a host name or address (IPv6 goes in brackets: mqtt://[::1]:1883)"
        case .port(let read): "\"\(read)\" is not a port; allowed are 1 to 65535"
        case .encoding(let part):
            "the \(part) in the broker's address is not percent-encoded UTF-8 (write %25 for %, %40 for @, %3A for :)"
        case .trailing(let read): "\"\(read)\" after the host and port: an MQTT address has no path, query or fragment"
        case .character(let part): "the \(part) in the broker's address holds a control character"
        case .file(let role, let path, let reason): "the \(role) \(path) cannot be read: \(reason)"
        case .certificatePair: "a client certificate needs its key file and a key file its certificate"
        case .resources(let reason): "no connection can be made: \(reason)"
        }
    }
}
