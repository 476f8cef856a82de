/// The mosquitto access list that makes the client level of geomatch's topics safe.
///
/// One text for the embedded broker and for `deploy/mosquitto/geomatch.acl`, the example for other people's brokers.
public struct AccessList: Sendable {
    /// What stands before each of the three trees, with or without its last `/`.
    public var prefix: String
    /// The users known by name; each gets the exceptions a pattern cannot express.
    public var users: [String]
    /// The login of the daemon, which may do all; `nil` where it has a listener of its own.
    public var daemon: String?
    /// Topic filters of other ecosystems, below which everybody may publish as on live topics. Without the prefix.
    public var adapterFilters: [String]

    public init(prefix: String = "", users: [String] = [], daemon: String? = nil, adapterFilters: [String] = []) {
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        self.users = users
        self.daemon = daemon
        self.adapterFilters = adapterFilters
    }

    public var text: String {
        ([header] + (daemon.map { [daemonPart($0)] } ?? []) + [denials, grants]
            + (adapterFilters.isEmpty ? [] : [adapterPart]) + (users.isEmpty ? [] : [exceptions]))
            .joined(separator: "\n")
    }

    private var header: String {
        """
        # geomatch: who may read and write what. The client level of a topic is the name of the user (%u).
        # mosquitto grants nothing that no line grants. For each message it looks at the lines of the user first, then at the
        # patterns, and among these at the denials first, wherever they stand.

        """
    }

    private func daemonPart(_ name: String) -> String {
        """
        # The daemon may do all. "topic" lines below "user" hold for that user alone.
        user \(name)
        topic readwrite #

        """
    }

    private var denials: String {
        """
        # Seven levels that begin with "live" or "geomatch" are no live update: the grant below must not lead into these trees.
        pattern deny \(prefix)live/+/+/+/+/+/+
        pattern deny \(prefix)geomatch/+/+/+/+/+/+

        """
    }

    private var grants: String {
        """
        # Live updates: dataset/venue/building/floor/room/location/domain.
        pattern write \(prefix)+/+/+/+/+/+/+

        # Requests in one's own name, and all that is sent to that name: replies, matches, live updates, changes.
        pattern write \(prefix)geomatch/+/%u/request/#
        pattern read \(prefix)geomatch/+/%u/#

        # Last known state, and what all may know.
        pattern read \(prefix)live/#
        pattern read \(prefix)geomatch/status
        pattern read \(prefix)geomatch/+/status
        pattern read \(prefix)geomatch/+/diagnostics/#

        """
    }

    private var adapterPart: String {
        adapterFilters.reduce("# What adapters read of other ecosystems.\n") { $0 + "pattern write \($1)\n" } + "\n"
    }

    private var exceptions: String {
        users.reduce(
            """
            # What the denials above take from users: requests and response topics of seven levels in their own tree.

            """
        ) {
            $0 + """
                user \($1)
                topic write \(prefix)geomatch/+/\($1)/request/#
                topic read \(prefix)geomatch/+/\($1)/#

                """
        }
    }

    /// The users of a mosquitto password file that can be clients: `name:hash` lines, names of 1–64 of `A-Z a-z 0-9 . _ -`.
    static func users(ofPasswordFile text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = line[..<colon]
            guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(isClientByte) else { return nil }
            return String(name)
        }
    }

    private static func isClientByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
