import ArgumentParser
import LiveTopics
import Wire

/// `geomatch eval topic`
struct TopicCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic",
        abstract: "Whether an MQTT topic filter matches a topic: true or false.",
        usage: "geomatch eval topic FILTER TOPIC\ngeomatch eval topic -",
        discussion: """
            The rules of MQTT 3.1.1 and 5, section 4.7. Lines: {"filter","topic"}.

            Examples:
              geomatch eval topic 'live/default/#' live/default/hq/-/-/-/-/occupancy
              echo '{"filter":"a/+","topic":"a/b"}' | geomatch eval topic -
            """)

    @OptionGroup
    var output: OutputOptions

    @Argument(help: ArgumentHelp("The filter and the topic, or -.", valueName: "arguments"))
    var arguments: [String] = []

    func validate() throws { try check(arguments, wanted: "FILTER TOPIC") }

    func run() throws {
        if arguments == ["-"] {
            var lines = JSONLines(TopicEvaluation())
            return try lines.run()
        }
        try TopicEvaluation().printResult(
            of: ["filter": .string(arguments[0]), "topic": .string(arguments[1])], asJSON: output.json)
    }
}

/// An MQTT topic filter and a topic.
struct TopicEvaluation: Evaluation {
    func result(of arguments: JSONObject) throws(WireError) -> JSONValue {
        let text = try text("filter", in: arguments)
        let topic = try self.text("topic", in: arguments)
        let filter: TopicFilter
        do throws(TopicFilterError) {
            filter = try TopicFilter(text)
        } catch {
            throw WireError(.invalid, "the filter is malformed: \(error.message)", field: "filter")
        }
        do throws(TopicFilterError) {
            try TopicFilter.validateTopic(topic)
        } catch {
            throw WireError(.invalid, "the topic is malformed: \(error.message)", field: "topic")
        }
        return .bool(filter.matches(topic))
    }
}
