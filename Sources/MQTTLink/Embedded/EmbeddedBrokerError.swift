import Glibc

/// Why the embedded mosquitto does not run, each with the way out.
public enum EmbeddedBrokerError: Error, Equatable, Sendable, CustomStringConvertible {
    case executableMissing(searched: [String])
    /// `holder` is who has the port, where that can be seen.
    case portTaken(address: String, holder: String?)
    case addressNotAvailable(address: String, reason: String)
    case directoryNotWritable(path: String, reason: String)
    case usersFileUnreadable(path: String, reason: String)
    case usersFileWrong(path: String, line: Int, reason: String)
    /// A certificate or key of the listener with TLS, or the plugin.
    case fileUnreadable(path: String, reason: String)
    /// `lines` are the last it wrote.
    case exitedAtOnce(status: String, lines: [String])
    case notAccepting(seconds: Double, lines: [String])
    /// A mosquitto of an earlier daemon that SIGKILL did not end.
    case leftBehind(processID: Int32)
    case notStarted(reason: String)

    public var description: String {
        switch self {
        case .executableMissing(let searched):
            "mosquitto was not found (\(searched.joined(separator: ", "))): install it with `apt install mosquitto`, "
                + "or use your own broker with --broker mqtt://host:port"
        case .portTaken(let address, let holder):
            "\(address) is taken by \(holder ?? "another process"): choose another address with --listen host:port, "
                + "or use the broker that is there with --broker mqtt://\(address)"
        case .addressNotAvailable(let address, let reason):
            "cannot listen on \(address): \(reason); choose another address with --listen host:port"
        case .directoryNotWritable(let path, let reason):
            "\(path) cannot be written: \(reason); choose another place with --data-dir DIR"
        case .usersFileUnreadable(let path, let reason):
            // Made anew, one that is there would lose its users.
            "the users file \(path) cannot be read: \(reason); "
                + (reason == Self.missing
                    ? "make one with `mosquitto_passwd -c \(path) NAME`"
                    : "it must be readable for the account that geomatchd runs as")
        case .usersFileWrong(let path, let line, let reason):
            "the users file \(path) cannot be used: line \(line): \(reason); correct it with `mosquitto_passwd \(path) NAME`"
        case .fileUnreadable(let path, let reason): "\(path) cannot be read: \(reason)"
        case .exitedAtOnce(let status, let lines):
            "mosquitto ended at once (\(status))\(Self.quoted(lines))"
        case .notAccepting(let seconds, let lines):
            "mosquitto does not accept connections after \(seconds) s\(Self.quoted(lines))"
        case .leftBehind(let processID):
            "the mosquitto of an earlier run (process \(processID)) does not end; end it with `kill -9 \(processID)`"
        case .notStarted(let reason): "mosquitto could not be started: \(reason)"
        }
    }

    private static let missing = String(cString: strerror(ENOENT))

    private static func quoted(_ lines: [String]) -> String {
        lines.isEmpty ? "" : ": " + lines.joined(separator: " | ")
    }
}
