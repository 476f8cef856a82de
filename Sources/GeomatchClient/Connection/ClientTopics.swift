internal import LiveTopics

/// The topics of one client in one dataset.
package struct ClientTopics: Sendable, Equatable {
    /// Empty, or levels with a slash at their end.
    package let prefix: String
    package let dataset: String
    /// All that is the client's, with a slash at its end.
    let own: String

    init(_ configuration: GeomatchConfiguration) {
        let prefix = configuration.topicsPrefix
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        dataset = configuration.dataset
        own = "\(self.prefix)geomatch/\(configuration.dataset)/\(configuration.client)/"
    }

    package var status: String { "\(prefix)geomatch/status" }
    package var datasetStatus: String { "\(prefix)geomatch/\(dataset)/status" }
    package var diagnostics: String { "\(prefix)geomatch/\(dataset)/diagnostics/#" }
    /// What names things of this client.
    package var ownDiagnostics: String { own + "diagnostics/#" }
    package var circumstances: String { own + "circumstance/#" }
    /// Of one level behind, as messages are distinguished by their topic but for its last level.
    var circumstanceEvents: String { own + "circumstance/+" }
    package var geofences: String { own + "geofence/#" }
    var geofenceEvents: String { own + "geofence/+" }
    var beaconEvents: String { own + "beacon/+" }
    var reply: String { own + "reply" }
    /// The change feed, where it is followed.
    package var changes: String { own + "changes" }

    func request(_ name: String) -> String { own + "request/" + name }
    func live(_ subscription: String) -> String { own + "live/" + LevelCoding.encode(subscription) }
    /// All matches of one device.
    package func matches(_ device: String) -> String { own + "match/\(LevelCoding.encode(device))/+" }
    package var matches: String { own + "match/#" }

    /// - Parameter criteria: A filter over the seven levels.
    package func state(_ criteria: String) -> String { "\(prefix)live/\(criteria)" }

    /// Where a device publishes its live data itself.
    func update(_ topic: LiveUpdateTopic) -> String { prefix + topic.encoded }

    /// - Parameter levels: The six below the dataset, decoded.
    package func update(_ levels: [String]) -> String {
        "\(prefix)\(dataset)/" + levels.map(LevelCoding.encode).joined(separator: "/")
    }
}
