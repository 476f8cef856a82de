/// A mosquitto password file: who may log in.
public struct UsersFile: Equatable, Sendable {
    /// Why a file cannot be used, with the line, counted from 1.
    public struct Problem: Error, Equatable, Sendable {
        public var line: Int
        public var reason: String
    }

    /// `name:hash`, by name. Of two lines for one name the later counts, as for mosquitto.
    private let lines: [String: String]

    /// - Throws: `usersFileUnreadable` or `usersFileWrong`.
    public static func read(_ path: String) throws(EmbeddedBrokerError) -> UsersFile { try BrokerFiles.readUsers(path) }

    /// - Throws: the first line that is no `name:hash` of `mosquitto_passwd`, or whose name is no client name.
    public init(_ text: String) throws(Problem) {
        var lines: [String: String] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            if line.allSatisfy(\.isWhitespace) || line.utf8.first == UInt8(ascii: "#") { continue }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard Self.isClientName(name) else {
                throw Problem(
                    line: index + 1,
                    reason: "`\(name.prefix(80))` is no name of a client: 1 to 64 of A-Z a-z 0-9 . _ -, not diagnostics or status"
                )
            }
            guard parts.count == 2, ["$6$", "$7$"].contains(where: parts[1].hasPrefix) else {
                throw Problem(line: index + 1, reason: "the password of \(name) is not hashed by mosquitto_passwd")
            }
            lines[name] = String(line)
        }
        self.lines = lines
    }

    /// In order.
    public var names: [String] { lines.keys.sorted() }

    /// What the broker reads.
    var text: String { lines.values.sorted().reduce("") { $0 + $1 + "\n" } }

    /// How many users another file has more, fewer, and with another password.
    func differences(to other: UsersFile) -> (added: Int, removed: Int, changed: Int) {
        let removed = lines.keys.count { other.lines[$0] == nil }
        let added = other.lines.keys.count { lines[$0] == nil }
        let changed = lines.count { name, line in other.lines[name].map { $0 != line } ?? false }
        return (added, removed, changed)
    }

    private static func isClientName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name != "diagnostics" && name != "status"
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
