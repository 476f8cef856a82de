import ArgumentParser
import Foundation
import GeomatchClient
import LiveTopics
import Wire

/// `geomatch pub TOPIC JSON`: one live update, just as it was written.
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pub",
        abstract: "Publish one live update.",
        usage: "geomatch pub TOPIC JSON [--retain] [--qos 0|1]",
        discussion: """
            The topic and the payload go out as they are, so that refusals can be tried too: `geomatch watch diagnostics` \
            shows them. What will be refused or lost is warned of on standard error: a topic of seven levels whose payload its domain does not \
            take, a topic of the dataset with another number of levels, an update while no geomatchd is online. An empty payload clears the state; `-` reads it from standard input.

            Examples:
              geomatch pub default/-/-/-/-/phone/position '{"lat":48.1,"lon":11.5}'
              geomatch pub default/hq/-/-/-/-/occupancy '{"nrOfPeople":3}' --retain
              geomatch pub default/-/-/-/-/phone/position ''
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

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

    func run() async throws {
        let configuration = try connection.configuration()
        do throws(TopicFilterError) {
            try TopicFilter.validateTopic(topic)
        } catch {
            throw CommandFailure.usage("MQTT does not allow the topic \"\(PlainText.printable(topic))\": \(error.message)")
        }
        let bytes = try payload == "-" ? Array(FileHandle.standardInput.readToEnd() ?? Data()) : Array(payload.utf8)
        if let doubt = Self.doubt(of: topic, bytes, dataset: configuration.dataset) {
            StandardError.note("warning: \(doubt); `geomatch watch diagnostics` shows refusals")
        } else if let hint = Self.hint(of: topic, bytes) {
            StandardError.note("hint: \(hint)")
        }
        // A retained one is read by a daemon that starts later.
        let live = retain || configuration.isHTTP ? nil : try? LiveTopic(encoded: topic)
        var ofDataset = configuration
        if let live { ofDataset.dataset = live.dataset }
        let topics = ofDataset.topics
        let warning = try await withClient(configuration, drain: configuration.requestTimeout) { client in
            try await client.publish(
                topic: configuration.topics.prefix + topic, payload: bytes, qos: qos, retain: retain)
            let reading = StatusReading(brief: topics)
            guard let live, (try? await client.run(reading)) != nil else { return String?.none }
            if reading.isOnline, reading.dataset == nil {
                return "hint: nothing was known of the dataset \(live.dataset) until now: it is new, or mistyped"
            }
            guard !reading.isOnline else { return nil }
            // A client that may not read the status does not know.
            return reading.status == nil
                ? "warning: there is no status of a geomatchd at this broker, or this client may not read it: without one the update is lost"
                : "warning: no geomatchd is online at this broker: the update is lost"
        }
        guard let warning else { throw CommandFailure.unavailable("interrupted before the broker had it") }
        if let warning { StandardError.note(warning) }
        guard output.json else { return }
        StandardOutput.print(
            json: [
                "topic": .string(topic), "bytes": .integer(Int64(bytes.count)), "qos": .integer(Int64(qos)),
                "retain": .bool(retain),
            ])
    }

    /// Why geomatchd will hardly take an update; nil where it may, or where an adapter or a request may be meant.
    static func doubt(of topic: String, _ payload: [UInt8], dataset: String) -> String? {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        if levels.first == "live", levels.count == 8 {
            return
                "live/… is where geomatch publishes what it takes; an update goes to \(levels.dropFirst().joined(separator: "/"))"
        }
        if levels.first?.isEmpty == true {
            return "a topic that begins with / has an empty level before the dataset: geomatchd does not read it"
        }
        if levels.count != 7 {
            guard levels.first.map({ $0 == dataset }) == true else { return nil }
            return "a live topic has seven levels, dataset/venue/building/floor/room/location/domain, not \(levels.count)"
        }
        let live: LiveTopic
        do throws(LiveTopicError) {
            live = try LiveTopic(encoded: topic)
        } catch {
            return error.message
        }
        guard !payload.isEmpty else { return nil }
        do throws(WireError) {
            var properties: [UInt8] = []
            _ = try LiveUpdateDecoder().decode(payload, domain: live.domain, properties: &properties)
        } catch {
            return error.message
        }
        return nil
    }

    /// What was hardly meant so in a topic that geomatchd takes.
    static func hint(of topic: String, _ payload: [UInt8]) -> String? {
        guard let domain = try? LiveTopic(encoded: topic).domain else { return adapterHint(of: topic) ?? levelsHint(of: topic) }
        if let near = KnownDomain.domain(meantBy: domain) {
            return "`\(domain)` is a domain of its own; did you mean `\(near)`?"
        }
        var properties: [UInt8] = []
        let update = try? LiveUpdateDecoder().decode(payload, domain: domain, properties: &properties)
        guard let timestamp = update?.timestamp, (1..<secondsMax).contains(timestamp) else { return nil }
        return "`timestamp` is in milliseconds: \(timestamp) is \(PlainText.instant(timestamp)), and \(timestamp)000 may be meant"
    }

    /// Milliseconds since 1970 until 1973, and seconds until the year 5138.
    private static let secondsMax: Int64 = 100_000_000_000

    /// A request has other levels.
    private static func levelsHint(of topic: String) -> String? {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        guard levels.count != 7, levels.first != "geomatch" else { return nil }
        return
            "a live topic has seven levels, dataset/venue/building/floor/room/location/domain, not \(levels.count): geomatchd reads this one only where an adapter has such a filter in its configuration"
    }

    private static func adapterHint(of topic: String) -> String? {
        let formats = AdapterFormat.all.map { $0.format }
        let format = formats.first { (try? TopicFilter($0.usualFilter))?.matches(topic) == true }
        guard let format else { return nil }
        return
            "this is a topic of \(format.name), which geomatchd reads where it has an adapter with such a filter in its configuration"
    }
}
