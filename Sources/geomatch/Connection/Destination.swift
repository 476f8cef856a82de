import LiveTopics
import MQTTLink

/// The broker, the topics and the patience of one command.
struct Destination: Equatable, Sendable {
    var endpoint: MQTTEndpoint
    var topics: Topics
    var timeoutSeconds: Double
}

/// The topics of the contract for one dataset and client; none checks ids, which the daemon does.
struct Topics: Equatable, Sendable {
    /// Empty, or levels with a slash at their end.
    var prefix: String
    var dataset: String
    var client: String

    var status: String { "\(prefix)geomatch/status" }
    var datasetStatus: String { "\(prefix)geomatch/\(dataset)/status" }
    var diagnostics: String { "\(prefix)geomatch/\(dataset)/diagnostics/#" }
    var reply: String { own("reply") }
    var circumstances: String { own("circumstance/#") }
    var changes: String { own("changes") }

    func request(_ resource: String, _ verb: String) -> String { own("request/\(resource)/\(verb)") }

    /// - Parameter device: The id, decoded; nil for all.
    func matches(device: String?) -> String {
        own(device.map { "match/\(LevelCoding.encode($0))/+" } ?? "match/#")
    }

    /// - Parameter criteria: A filter over the seven levels; nil for all of the dataset.
    func live(_ criteria: String?) -> String { "\(prefix)live/\(criteria ?? "\(dataset)/#")" }

    /// - Parameter id: Of a live subscription, decoded.
    func liveSubscription(_ id: String) -> String { own("live/\(LevelCoding.encode(id))") }

    /// - Parameter levels: The six below the dataset, decoded.
    func update(_ levels: [String]) -> String {
        "\(prefix)\(dataset)/" + levels.map(LevelCoding.encode).joined(separator: "/")
    }

    func update(device: String, domain: String) -> String {
        "\(prefix)\(dataset)/-/-/-/-/\(LevelCoding.encode(device))/\(LevelCoding.encode(domain))"
    }

    static func isLevel(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 1024 && !text.utf8.contains { "/+#".utf8.contains($0) || $0 < 0x20 || $0 == 0x7F }
    }

    private func own(_ rest: String) -> String { "\(prefix)geomatch/\(dataset)/\(client)/\(rest)" }
}
