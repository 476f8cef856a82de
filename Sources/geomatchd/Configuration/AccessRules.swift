import Datasets
import MQTTLink

/// Which datasets a client may name, and what of their live data it may see and publish.
///
/// The first entry whose patterns match a client decides; a client that none matches may do nothing. Administrators may read and
/// write all in the datasets their patterns cover.
struct AccessRules: Sendable {
    typealias Reach = AccessList.Reach

    /// One entry of the configuration's `access`.
    struct Entry: Equatable, Sendable {
        /// Patterns of clients, in which `*` is any run of characters.
        var users: [String]
        /// Patterns of datasets.
        var datasets = ["*"]
        var read = Reach.own
        var write = Reach.own

        static let everybody = Entry(users: ["*"], datasets: ["*"], read: .all, write: .all)
    }

    var entries: [Entry]
    var administrators: AccessPatterns
    /// Narrows what others than administrators may read.
    var liveReaders: AccessPatterns

    /// Whether a client's request may be about a dataset.
    func mayName(dataset: String, client: String) -> Bool {
        administrators.allow(client: client, in: dataset) || covering(dataset, client) != nil
    }

    /// What a client may see of a dataset's live data. With `own`, topics whose `location` level is its name.
    func reads(dataset: String, client: String) -> Reach {
        if administrators.allow(client: client, in: dataset) { return .all }
        guard let entry = covering(dataset, client), liveReaders.allow(client: client, in: dataset) else { return .none }
        return entry.read
    }

    /// Which live topics of a dataset a client may publish.
    func writes(dataset: String, client: String) -> Reach {
        if administrators.allow(client: client, in: dataset) { return .all }
        return covering(dataset, client)?.write ?? .none
    }

    private func covering(_ dataset: String, _ client: String) -> Entry? {
        guard let entry = entry(of: client), Self.matches(entry.datasets, dataset) else { return nil }
        return entry
    }

    private func entry(of client: String) -> Entry? { entries.first { Self.matches($0.users, client) } }

    private static func matches(_ patterns: [String], _ name: String) -> Bool {
        AccessPatterns(patterns).allow(client: name, in: "")
    }
}

extension AccessRules {
    /// The same for an access list, which knows patterns of datasets but not their names.
    ///
    /// - Parameters:
    ///   - administrators: The patterns, each of a client or of `dataset/client`.
    ///   - liveReaders: Likewise.
    func grants(user: String, administrators: [String], liveReaders: [String]) -> [AccessList.Grant] {
        let administered = Self.datasets(in: administrators, of: user)
        var grants = administered.map { AccessList.Grant(dataset: $0, reads: .all, writes: .all) }
        guard let entry = entry(of: user) else { return grants }
        grants += entry.datasets.map { AccessList.Grant(dataset: $0, reads: .none, writes: entry.write) }
        for readable in Self.datasets(in: liveReaders, of: user) {
            grants += entry.datasets.compactMap { dataset in
                Self.common(dataset, readable).map { AccessList.Grant(dataset: $0, reads: entry.read, writes: .none) }
            }
        }
        return grants
    }

    /// The patterns of datasets of those patterns that match a client.
    private static func datasets(in patterns: [String], of client: String) -> [String] {
        patterns.compactMap { pattern in
            let parts = pattern.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let last = parts.last, matches([last], client) else { return nil }
            return parts.count == 2 ? parts[0] : "*"
        }
    }

    /// A pattern for the names that both match; nil for none, and where no pattern says it: then the access list grants less.
    private static func common(_ one: String, _ other: String) -> String? {
        if one == other || other == "*" { return one }
        if one == "*" { return other }
        if !one.contains("*") { return matches([other], one) ? one : nil }
        return !other.contains("*") && matches([one], other) ? other : nil
    }
}

extension LiveReach {
    init(_ reach: AccessRules.Reach) {
        self =
            switch reach {
            case .all: .all
            case .own: .own
            case .none: .none
            }
    }
}
