internal import LiveTopics

/// The topics of one client in one dataset.
struct ClientTopics: Sendable {
    private let prefix: String
    private let dataset: String
    private let own: String

    init(_ configuration: GeomatchConfiguration) {
        let prefix = configuration.topicsPrefix
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        dataset = configuration.dataset
        own = "\(self.prefix)geomatch/\(configuration.dataset)/\(configuration.client)/"
    }

    var status: String { "\(prefix)geomatch/status" }
    var reply: String { own + "reply" }
    /// The change feed, where it is followed.
    var changes: String { own + "changes" }

    func request(_ name: String) -> String { own + "request/" + name }
    func live(_ subscription: String) -> String { own + "live/" + LevelCoding.encode(subscription) }
    /// All matches of one device.
    func matches(_ device: String) -> String { own + "match/\(LevelCoding.encode(device))/+" }

    /// Where a device publishes its live data itself.
    func update(_ topic: LiveUpdateTopic) -> String { prefix + topic.encoded }
}
