import GeomatchClient
import LiveTopics
import Wire

/// Which live updates are wanted, and how often.
struct LiveSelection: Equatable {
    /// A topic with `+` and `#`, or an object of levels.
    var criteria: JSONValue
    /// A selector over the update's properties.
    var condition: String?
    /// A box, a circle or a GeoJSON Polygon.
    var within: JSONValue?
    /// Milliseconds between two updates of one topic.
    var minInterval: Int?

    /// - Parameters:
    ///   - criteria: As it was written: an object where it begins with `{`; a topic may begin with `live/`; nil for all.
    ///   - within: JSON.
    /// - Throws: `usage` for what is no topic filter or no JSON; what it means is for the daemon to check.
    init(criteria: String?, condition: String?, within: String?, minInterval: Int?, dataset: String) throws(CommandFailure) {
        if let criteria, criteria.hasPrefix("{") {
            self.criteria = .object(try RequestWords.object(of: Array(criteria.utf8)))
        } else {
            let topic = criteria.map(Self.topic) ?? "\(dataset)/#"
            do throws(TopicFilterError) {
                _ = try TopicFilter(topic)
            } catch {
                throw .usage("the criteria are no topic filter: \(error.message)")
            }
            self.criteria = .string(topic)
        }
        if let within {
            guard let area = try? JSONValue.parse(within) else { throw .usage("--within is not JSON") }
            self.within = area
        }
        self.condition = condition
        self.minInterval = minInterval
    }

    /// Criteria as a topic of the seven levels.
    static func topic(_ criteria: String) -> String {
        criteria.hasPrefix("live/") ? String(criteria.dropFirst(5)) : criteria
    }

    var text: String { PlainText.of(criteria) }

    /// The same for the library.
    var liveCriteria: LiveCriteria {
        var question: JSONObject = ["criteria": criteria]
        question["where"] = condition.map(JSONValue.string)
        question["within"] = within
        let criteria = LiveCriteria(written: question).delivery(.atLeastOnce)
        return minInterval.map { criteria.minInterval(.milliseconds($0)) } ?? criteria
    }
}
