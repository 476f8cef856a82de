/// A payload shape that can be configured, and what its adapter reads.
public struct AdapterFormat: Sendable {
    /// As in the configuration.
    public let name: String
    /// Other names under which it is found.
    public let aliases: [String]
    /// The filter that its devices usually need.
    public let usualFilter: String
    /// One line of help: what is read.
    public let reads: String
    /// What the `location` level is where nothing is configured.
    public let item: String
    /// The domains it can speak of; empty for any, as configured.
    public let domains: [String]

    public init(
        _ name: String, aliases: [String] = [], usualFilter: String, reads: String, item: String, domains: [String]
    ) {
        self.name = name
        self.aliases = aliases
        self.usualFilter = usualFilter
        self.reads = reads
        self.item = item
        self.domains = domains
    }

    /// Every adapter there is, in the order in which help lists them.
    public static let all: [any PayloadAdapter.Type] = [
        OwnTracksAdapter.self, ESPresenseAdapter.self, OpenMQTTGatewayAdapter.self, RoomAssistantAdapter.self,
        HomeAssistantAdapter.self, TasmotaAdapter.self, AprilBrotherAdapter.self, TraccarAdapter.self,
        TheThingsStackAdapter.self, MeshtasticAdapter.self, PlainJSONAdapter.self,
    ]

    /// Two lines for each format: its name and a usual filter, and what is read. They fit into 80 columns.
    public static var help: String {
        all.map { "\($0.format.name) \($0.format.usualFilter)\n    \($0.format.reads)" }.joined(separator: "\n")
    }

    /// The adapter with this name or alias, in any case; hyphens do not count.
    public static func adapter(named name: String) -> (any PayloadAdapter.Type)? {
        let wanted = folded(name)
        return all.first { ([$0.format.name] + $0.format.aliases).contains { folded($0) == wanted } }
    }

    private static func folded(_ name: String) -> [UInt8] {
        name.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: " ") }
    }
}
