import LiveTopics

/// Whom a notification is for: a client of a dataset, and what it is about.
public final class Recipient: Sendable {
    public let dataset: String
    public let client: String
    /// What it is about, below all that is the client's: encoded levels between slashes, such as `live/rooms`.
    public let path: String
    /// The id of the live subscription it is, where it is one.
    public let liveSubscription: String?

    public init(_ dataset: String, _ client: String?, path: String) {
        self.dataset = dataset
        self.client = client ?? "-"
        self.path = path
        liveSubscription = path.utf8.starts(with: "live/".utf8) ? LevelCoding.decode(path.utf8.dropFirst(5)) : nil
    }

    convenience init(_ dataset: String, _ client: String?, _ kind: Kind, _ names: String...) {
        let levels = [kind.rawValue] + names.map(LevelCoding.encode)
        self.init(dataset, client, path: levels.joined(separator: "/"))
    }

    enum Kind: String {
        case match, live, circumstance, beacon, geofence, changes, diagnostics
    }

    /// The client, over all datasets.
    var owner: String { "\(dataset)/\(client)" }
}

/// How a door calls what it sends, for replies and diagnostics that name it.
public struct Naming: Sendable {
    /// All that is a client's of a dataset.
    public var tree: @Sendable (_ dataset: String, _ client: String) -> String
    /// How the names of all trees begin.
    public var root: String

    public init(root: String = "", tree: @escaping @Sendable (_ dataset: String, _ client: String) -> String) {
        self.root = root
        self.tree = tree
    }

    func name(of recipient: Recipient) -> String { tree(recipient.dataset, recipient.client) + recipient.path }
}
