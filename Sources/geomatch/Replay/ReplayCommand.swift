import ArgumentParser
import LiveTopics

/// `geomatch replay FILE`: recorded movement as live positions.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Publish recorded positions, in the order of time across all devices.",
        usage: "geomatch replay FILE [--speed X] [--now] [--qos 0|1]",
        discussion: """
            CSV with a header device,timestamp,latitude,longitude[,altitude,accuracy] (also lat, lon; other columns are left \
            out), the tracks of a GPX file, or GeoJSON Features of Points, one on a line, with the properties device and \
            timestamp. Timestamps are ISO 8601, or seconds or milliseconds since 1970.

            Each point goes to DATASET/-/-/-/-/DEVICE/position with its own timestamp. Rows that cannot be read are named \
            and left out; only when none is left the exit code is 1. Ctrl-C ends early.

            Without --speed it goes as fast as the broker takes it. A broker drops QoS 0 messages for a reader that is \
            slower than it; --qos 1 makes it slower and safer.

            Examples:
              geomatch replay go_track.csv
              geomatch --dataset city replay bus.csv --speed 60 --now
              geomatch replay walk.gpx --qos 1
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "Times real time: 1 as it was, 60 a minute in a second. (default: as fast as possible)", valueName: "X"))
    var speed: Double?

    @Option(help: ArgumentHelp("The domain to publish in.", valueName: "DOMAIN"))
    var atDomain = "position"

    @Flag(help: "Move all timestamps, so that the last is the moment the replay ends.")
    var now = false

    @Option(help: "0 or 1. With 1 every point is acknowledged by the broker.")
    var qos = 0

    @Option(help: ArgumentHelp("csv, gpx or geojson. (default: by the file's ending)", valueName: "FORMAT"))
    var format: TraceFormat?

    @Flag(help: "Report the progress each second, also where standard error is no terminal.")
    var progress = false

    @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file"))
    var file: String

    func validate() throws {
        guard qos == 0 || qos == 1 else { throw ValidationError("--qos is \(qos): 0 and 1 are allowed") }
        if let speed, !(speed > 0 && speed.isFinite) {
            throw ValidationError("--speed is \(speed): a number above 0 is allowed")
        }
        guard Name.isID(atDomain) else { throw ValidationError("--at-domain is no domain: 1 to 128 bytes, not `-`") }
    }

    func run() async throws {
        let configuration = try connection.configuration(needsBroker: true)
        let trace = try (format ?? TraceFormat(path: file)).read(path: file)
        for refusal in trace.refusals {
            StandardError.line("\(PlainText.printable(file)):\(refusal.line): \(PlainText.printable(refusal.reason))")
        }
        if trace.refusedCount > trace.refusals.count {
            StandardError.line("… and \(trace.refusedCount - trace.refusals.count) more")
        }
        guard !trace.points.isEmpty else {
            throw CommandFailure.failed("\(PlainText.printable(file)) holds no point (\(trace.refusedCount) rows refused)")
        }
        let replay = Replay(
            configuration, trace: trace, domain: atDomain, qos: Int32(qos), speed: speed, endsNow: now,
            progress: ProgressLine(total: trace.points.count, isWanted: progress))
        let isComplete: Void? = try await withClient(configuration, drain: configuration.requestTimeout) {
            try await $0.run(replay)
        }
        if output.json {
            StandardOutput.print(json: replay.figures(isComplete: isComplete != nil))
        } else {
            StandardError.line(replay.summary(isComplete: isComplete != nil))
        }
    }
}
