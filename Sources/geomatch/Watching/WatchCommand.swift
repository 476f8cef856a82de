import ArgumentParser
import GeomatchClient
import LiveTopics
import Wire

/// `geomatch watch …`: what the daemon publishes, as it comes.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print what comes in, one line for each message, until Ctrl-C.",
        usage: "geomatch watch SUBJECT [CRITERIA] [OPTION]…",
        discussion: """
              matches         this client's matches; --device: those of one device
              live            live state and its updates
              diagnostics     why input of the dataset was refused
              circumstances   this client's circumstances
              geofences       who enters and leaves this client's geofences
              changes         what changes of this client's objects and documents;
                              --since 0: all of it first

            CRITERIA is a topic with + and #, or a JSON object of levels. `watch live` is a live subscription kept by the daemon: first what is there, then what changes, and what leaves. On a \
            terminal it is a table; with --json, --count or into a pipe it is lines. NO_COLOR takes the colours away. The dataset \
            is that of the criteria where --dataset is not given. With --direct the daemon is not asked: it is the broker's \
            subscription to live/….

            With --json each line is the message as it came; state that was cleared is {"topic":…,"cleared":true} and what is \
            not JSON {"topic":…,"payload":…}. Reconnects when the broker comes back. Where nothing can come, because no daemon is \
            online or the dataset or the device is unknown, standard error says so.

            Examples:
              geomatch watch matches --device phone
              geomatch watch live 'default/hq/#'
              geomatch watch live 'default/hq/+/+/+/+/occupancy' --json \\
                  --where 'nrOfPeople > capacity'
              geomatch watch live '{"domain":"position"}' --min-interval 1000 \\
                  --within '{"circle":{"latitude":43.73,"longitude":7.42,"radius":500}}'
              geomatch watch diagnostics --count 1
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Argument(help: "matches, live, diagnostics, circumstances, geofences or changes.")
    var subject: WatchSubject

    @Argument(help: "For live: which topics. (default: all of the dataset)")
    var criteria: String?

    @Option(help: ArgumentHelp("For matches: the id of the subscribing device.", valueName: "ID"))
    var device: String?

    @Option(
        name: .customLong("where"), help: ArgumentHelp("For live: a selector over the properties.", valueName: "SELECTOR"))
    var condition: String?

    @Option(
        help: ArgumentHelp(
            "For live: only inside of this box, circle or polygon; leaving it is reported too.", valueName: "JSON"))
    var within: String?

    @Option(
        help: ArgumentHelp("For live: minimum interval per topic; intermediate updates are skipped.", valueName: "MS"))
    var minInterval: Int?

    @Option(
        help: ArgumentHelp(
            "For changes: begin behind this place in the feed. (default: what comes from now on)", valueName: "SEQ"))
    var since: Int64?

    @Flag(help: "For live: read live/… at the broker itself.")
    var direct = false

    @Option(help: ArgumentHelp("End after so many messages.", valueName: "N"))
    var count: Int?

    func validate() throws {
        if device != nil, subject != .matches { throw ValidationError("only `watch matches` takes --device") }
        if let since {
            guard subject == .changes else { throw ValidationError("only `watch changes` takes --since") }
            guard since >= 0 else { throw ValidationError("--since is \(since): 0 or more is allowed") }
        }
        if let device, !Name.isID(device) { throw ValidationError("--device is no id: 1 to 128 bytes, not `-`") }
        if let count, count < 1 { throw ValidationError("--count is \(count): 1 or more is allowed") }
        let isConditional = condition != nil || within != nil || minInterval != nil
        if isConditional || direct, subject != .live {
            throw ValidationError("only `watch live` takes --where, --within, --min-interval and --direct")
        }
        if isConditional, direct {
            throw ValidationError("--where, --within and --min-interval need the daemon, without --direct")
        }
        if let minInterval, minInterval < 0 {
            throw ValidationError("--min-interval is \(minInterval): 0 or more milliseconds are allowed")
        }
    }

    func run() async throws {
        // Here rather than among the checks above, which come before a mistyped option is noticed: its value is taken for criteria.
        if criteria != nil, subject != .live { throw CommandFailure.usage("only `watch live` takes criteria") }
        let isObject = criteria?.hasPrefix("{") == true
        let configuration = try connection.configuration(
            criteria: isObject ? nil : criteria.map(LiveSelection.topic), needsBroker: direct)
        switch subject {
        case .live where !direct:
            let selection = try LiveSelection(
                criteria: criteria, condition: condition, within: within, minInterval: minInterval,
                dataset: configuration.dataset)
            try await selection.watch(configuration, count: count, asJSON: output.json)
        case .changes:
            try await withClient(configuration) { client in
                var changes = ChangeWatching(since: since, count: count, asJSON: output.json)
                try await changes.run(client)
            }
        default:
            let watching = Watching(
                configuration, subject: subject, filters: try filters(configuration), count: count, asJSON: output.json)
            try await withClient(configuration) { client in
                // Not waited for: a warning that does not come keeps nobody watching.
                let warning = Task { [device, subject] in
                    let isOwn = [.matches, .circumstances, .geofences].contains(subject)
                    if configuration.isHTTP {
                        await Self.warnOverHTTP(client, device: device)
                    } else {
                        await Self.warn(configuration, device: device, isOwn: isOwn)
                    }
                }
                defer { warning.cancel() }
                try await client.run(watching)
            }
        }
    }

    /// Says on standard error why nothing can come at present.
    ///
    /// - Parameter isOwn: What is watched is the client's own.
    private static func warn(_ configuration: GeomatchConfiguration, device: String?, isOwn: Bool) async {
        var configuration = configuration
        configuration.connectionLost = nil
        guard let client = try? GeomatchClient(configuration) else { return }
        let reading = StatusReading(configuration.topics)
        if (try? await client.run(reading)) != nil {
            if !reading.isOnline {
                StandardError.note("no geomatchd is online at this broker: nothing comes before one is")
            } else if isOwn, let hint = configuration.loginHint, (try? await client.reply(to: "dataset/get", [:])) == nil {
                StandardError.note("nothing can come: \(hint)")
            } else if reading.dataset == nil {
                StandardError.note("no status of the dataset \(configuration.dataset): it may not exist")
            } else if let refusal = await refusal(of: device, client) {
                StandardError.note(refusal)
            }
        }
        await client.close()
    }

    /// The same where the daemon itself is at the other end.
    private static func warnOverHTTP(_ client: GeomatchClient, device: String?) async {
        if let refusal = await refusal("dataset/get", [:], with: "unknownDataset", client) {
            StandardError.note(refusal)
            StandardError.note("waiting for it: nothing comes before it exists")
        } else if let refusal = await refusal(of: device, client) {
            StandardError.note(refusal)
        }
    }

    private static func refusal(of device: String?, _ client: GeomatchClient) async -> String? {
        guard let device else { return nil }
        return await refusal("device/get", ["id": .string(device)], with: "notFound", client)
    }

    private static func refusal(
        _ name: String, _ parameters: JSONObject, with code: JSONValue, _ client: GeomatchClient
    ) async -> String? {
        guard let reply = try? await client.reply(to: name, parameters), let error = reply["error"] else { return nil }
        return error.member("error") == code ? error.member("message")?.asString : nil
    }

    private func filters(_ configuration: GeomatchConfiguration) throws(CommandFailure) -> [String] {
        let topics = configuration.topics
        switch subject {
        case .matches: return [device.map(topics.matches) ?? topics.matches]
        // Over HTTP those of the dataset come with the client's own.
        case .diagnostics: return configuration.isHTTP ? [topics.ownDiagnostics] : [topics.diagnostics, topics.ownDiagnostics]
        case .circumstances: return [topics.circumstances]
        case .geofences: return [topics.geofences]
        case .changes: return [topics.changes]
        case .live:
            let criteria = criteria.map(LiveSelection.topic)
            do throws(TopicFilterError) {
                if let criteria { _ = try TopicFilter(criteria) }
            } catch {
                throw .usage("the criteria are no topic filter: \(error.message)")
            }
            return [topics.state(criteria ?? "\(topics.dataset)/#")]
        }
    }
}

/// What can be watched.
enum WatchSubject: String, ExpressibleByArgument, CaseIterable {
    case matches, live, diagnostics, circumstances, geofences, changes
}
