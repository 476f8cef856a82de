import ArgumentParser
import Foundation
import LiveTopics
import MQTTLink

/// `geomatch pub TOPIC JSON`: one live update, just as it was written.
struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pub",
        abstract: "Publish one live update.",
        usage: "geomatch pub TOPIC JSON [--retain] [--qos 0|1]",
        discussion: """
            The topic and the payload go out as they are, so that refusals can be tried too: `geomatch watch diagnostics` \
            shows them. An empty payload clears the state; `-` reads it from standard input.

            Examples:
              geomatch pub default/-/-/-/-/phone/position '{"lat":48.1,"lon":11.5}'
              geomatch pub default/hq/-/-/-/-/occupancy '{"nrOfPeople":3}' --retain
              geomatch pub default/-/-/-/-/phone/position ''
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @Flag(help: "The broker keeps the message for those who subscribe later.")
    var retain = false

    @Option(help: "0 or 1. With 1 the broker's acknowledgement is awaited.")
    var qos = 1

    @Argument(help: "dataset/venue/building/floor/room/location/domain; a level that does not apply is written `-`.")
    var topic: String

    @Argument(help: ArgumentHelp("The payload.", valueName: "json"))
    var payload: String

    func validate() throws {
        guard qos == 0 || qos == 1 else { throw ValidationError("--qos is \(qos): 0 and 1 are allowed") }
    }

    func run() throws {
        let destination = try connection.destination()
        do throws(TopicFilterError) {
            try TopicFilter.validateTopic(topic)
        } catch {
            throw CommandFailure.usage("MQTT does not allow the topic \"\(PlainText.printable(topic))\": \(error.message)")
        }
        let bytes = try payload == "-" ? Array(FileHandle.standardInput.readToEnd() ?? Data()) : Array(payload.utf8)
        let publishing = Publishing(
            destination, topic: destination.topics.prefix + topic, payload: bytes, qos: Int32(qos), retain: retain)
        guard try publishing.run() else { throw CommandFailure.unavailable("interrupted before the broker had it") }
    }
}
