/// The mosquitto access list that makes the client level of geomatch's topics safe.
///
/// One text for the embedded broker and for `deploy/mosquitto/geomatch.acl`, the example for other people's brokers.
public struct AccessList: Sendable {
    /// How much of the live data of a dataset.
    public enum Reach: String, Sendable, CaseIterable {
        case all
        /// Topics whose `location` level is the user's name.
        case own
        case none
    }

    /// What a user may do with live data.
    public struct Grant: Equatable, Sendable {
        /// A pattern of datasets, in which `*` is any run of characters.
        public var dataset: String
        public var reads: Reach
        public var writes: Reach

        public init(dataset: String, reads: Reach, writes: Reach) {
            self.dataset = dataset
            self.reads = reads
            self.writes = writes
        }
    }

    /// Who reads the text: they differ in what they make of a pattern of datasets.
    public enum Reader: Sendable {
        /// geomatch's plugin, which knows patterns.
        case plugin
        /// mosquitto, which does not: a pattern means those of these datasets that it matches, and `*` for all.
        case mosquitto(datasets: [String])
    }

    /// The prefix of each of the three trees, with or without its last `/`.
    public var prefix: String
    /// The users known by name; each gets the exceptions a pattern cannot express.
    public var users: [String]
    /// The login of the daemon, which may do all; `nil` where it has a listener of its own.
    public var daemon: String?
    /// Topic filters of other ecosystems, below which everybody may publish as on live topics. Without the prefix.
    public var adapterFilters: [String]
    /// What each of the users may do; `nil` where everybody reads and writes live data of every dataset.
    public var grants: (@Sendable (_ user: String) -> [Grant])?
    /// Where Home Assistant discovers, which those read who read all live data of a dataset, and the daemon alone writes; `nil`: nowhere.
    public var discoveryPrefix: String?
    /// Patterns of the datasets that it announces.
    public var discoveryDatasets: [String] = []

    public init(
        prefix: String = "", users: [String] = [], daemon: String? = nil, adapterFilters: [String] = [],
        grants: (@Sendable (_ user: String) -> [Grant])? = nil
    ) {
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        self.users = users
        self.daemon = daemon
        self.adapterFilters = adapterFilters
        self.grants = grants
    }

    public func text(for reader: Reader = .mosquitto(datasets: [])) -> String {
        let begin = [header] + (daemon.map { [daemonPart($0)] } ?? []) + [denials]
        let parts: [String]
        if let grants {
            parts = [ownTree] + users.map { part(of: $0, grants($0), reader) }
        } else {
            parts =
                [forEverybody] + discoveryPart + (adapterFilters.isEmpty ? [] : [adapterPart])
                + (users.isEmpty ? [] : [exceptions])
        }
        return (begin + parts).joined(separator: "\n")
    }

    private var header: String {
        """
        # geomatch: who may read and write what. The client level of a topic is the name of the user (%u).
        # mosquitto grants nothing that no line grants. For each message it looks at the lines of the user first, then at the
        # patterns, and among these at the denials first, wherever they are.

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

    private var forEverybody: String {
        """
        # Live updates: dataset/venue/building/floor/room/location/domain.
        pattern write \(prefix)+/+/+/+/+/+/+

        # Requests in one's own name, also where the word is misspelt, and all that is sent to that name: replies, matches, live updates,
        # changes.
        pattern write \(prefix)geomatch/+/%u/request/#
        pattern write \(prefix)geomatch/+/%u/requests/#
        pattern read \(prefix)geomatch/+/%u/#

        # Last known state, and what all may know.
        pattern read \(prefix)live/#
        pattern read \(prefix)geomatch/status
        pattern read \(prefix)geomatch/status/+
        pattern read \(prefix)geomatch/+/status
        pattern read \(prefix)geomatch/+/diagnostics/#

        """
    }

    private var discoveryPart: [String] {
        guard let discoveryPrefix else { return [] }
        return [
            """
            # What Home Assistant discovers: seven levels of it are no live update.
            pattern deny \(Self.sevenLevels(below: discoveryPrefix))
            pattern read \(discoveryPrefix)/#

            """
        ]
    }

    private static func sevenLevels(below prefix: String) -> String {
        let levels = prefix.split(separator: "/", omittingEmptySubsequences: false).count
        return prefix + String(repeating: "/+", count: max(0, 7 - levels))
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
                topic write \(prefix)geomatch/+/\($1)/requests/#
                topic read \(prefix)geomatch/+/\($1)/#

                """
        }
    }

    // MARK: Each user's own

    private var ownTree: String {
        """
        # Requests in one's own name, also where the word is misspelt, and all that is sent to that name; which datasets it may name the
        # daemon decides.
        pattern write \(prefix)geomatch/+/%u/request/#
        pattern write \(prefix)geomatch/+/%u/requests/#
        pattern read \(prefix)geomatch/+/%u/#
        pattern read \(prefix)geomatch/status
        pattern read \(prefix)geomatch/status/+

        """
    }

    private func part(of user: String, _ grants: [Grant], _ reader: Reader) -> String {
        var lines = [
            "user \(user)", "topic write \(prefix)geomatch/+/\(user)/request/#",
            "topic write \(prefix)geomatch/+/\(user)/requests/#", "topic read \(prefix)geomatch/+/\(user)/#",
            // These lines are looked at before the patterns, so the denials are needed here, too.
            "topic deny \(prefix)live/+/+/+/+/+/+", "topic deny \(prefix)geomatch/+/+/+/+/+/+",
        ]
        for grant in grants {
            for dataset in levels(for: grant.dataset, reader) { lines += self.lines(of: user, grant, dataset) }
        }
        if let discoveryPrefix { lines.append("topic deny \(Self.sevenLevels(below: discoveryPrefix))") }
        if let discoveryPrefix, readsAllDiscovered(grants) { lines.append("topic read \(discoveryPrefix)/#") }
        let writes = Set(grants.map(\.writes))
        if let reach = [Reach.all, .own].first(where: writes.contains) {
            lines += adapterFilters.compactMap { Self.adapterFilter($0, reach, user) }.map { "topic write \($0)" }
        }
        return lines.reduce("") { $0 + $1 + "\n" }
    }

    /// Discovery names the things of every dataset that it is on for.
    private func readsAllDiscovered(_ grants: [Grant]) -> Bool {
        discoveryDatasets.allSatisfy { dataset in
            grants.contains { $0.reads == .all && ($0.dataset == "*" || $0.dataset == dataset) }
        }
    }

    private func lines(of user: String, _ grant: Grant, _ dataset: String) -> [String] {
        var lines = ["topic read \(prefix)geomatch/\(dataset)/status", "topic read \(prefix)geomatch/\(dataset)/diagnostics/#"]
        switch grant.reads {
        case .all: lines.append("topic read \(prefix)live/\(dataset)/#")
        case .own: lines.append("topic read \(prefix)live/\(dataset)/+/+/+/+/\(user)/+")
        case .none: break
        }
        switch grant.writes {
        case .all: lines.append("topic write \(prefix)\(dataset)/+/+/+/+/+/+")
        case .own: lines.append("topic write \(prefix)\(dataset)/+/+/+/+/\(user)/+")
        case .none: break
        }
        return lines
    }

    /// The level of the dataset for a pattern of datasets.
    private func levels(for pattern: String, _ reader: Reader) -> [String] {
        if pattern == "*" { return ["+"] }
        guard pattern.contains("*") else { return [pattern] }
        switch reader {
        case .plugin: return [pattern]
        case .mosquitto(let datasets): return datasets.filter { Self.matches(pattern, $0) }.sorted()
        }
    }

    /// With `own` the first level that is open is the user's name, as in `owntracks/{user}/{device}`.
    private static func adapterFilter(_ filter: String, _ reach: Reach, _ user: String) -> String? {
        if reach == .all { return filter }
        var levels = filter.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard let open = levels.firstIndex(of: "+") else { return nil }
        levels[open] = user
        return levels.joined(separator: "/")
    }

    static func matches(_ pattern: String, _ name: String) -> Bool {
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, name.hasPrefix(first) else { return false }
        if parts.count == 1 { return name == pattern }
        var rest = name.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}
