import ArgumentParser
import Foundation
import HTTPDoor
import Logging
import MQTTLink
import Wire

/// The daemon's command line.
@main
struct Geomatchd: AsyncParsableCommand {
    static let release = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "geomatchd",
        abstract: "A location server for MQTT: matches, geofences, occupancy and live data.",
        discussion: """
            Without an argument it runs an embedded mosquitto on 127.0.0.1:1883 and stores in ./geomatch-data. \
            Each flag can also be given in the environment (--data-dir as GEOMATCH_DATA_DIR) and as a key of the \
            configuration file (data-dir). Precedence: flag, environment, file, default.

            Formats of the file's key adapters[], each with a filter that suits it:
            \(AdapterFormat.help)
            """,
        version: release)

    @Option(help: ArgumentHelp("A YAML file; deploy/geomatchd.yaml lists its keys.", valueName: "FILE"))
    var config: String?

    @Option(help: ArgumentHelp("Use this broker instead of the embedded one.", valueName: "mqtt[s]://user:password@host:port"))
    var broker: String?

    @Option(help: ArgumentHelp("Where the embedded broker listens. (default: 127.0.0.1:1883)", valueName: "HOST:PORT"))
    var listen: String?

    @Option(help: ArgumentHelp("Where everything is kept. (default: ./geomatch-data)", valueName: "DIR"))
    var dataDir: String?

    @Option(
        help: ArgumentHelp(
            "Keep everything in PostgreSQL 15 or newer. (default: SQLite in the data directory)",
            valueName: "postgres://user:password@host:port/database"))
    var store: String?

    @Option(
        help: ArgumentHelp(
            "Be a node of this cluster: daemons with the same --broker and --store that share the datasets.", valueName: "NAME"))
    var cluster: String?

    @Option(help: ArgumentHelp("Its name in the cluster. (default: host name and a random part)", valueName: "NAME"))
    var node: String?

    @Option(
        help: ArgumentHelp(
            "Where other nodes reach its HTTP. (default: --http where that is not loopback)", valueName: "http://HOST:PORT"))
    var httpAdvertise: String?

    @Option(
        help: ArgumentHelp(
            "Where HTTP is offered, or off; port 0 is any free one. (default: 127.0.0.1:8080)", valueName: "HOST:PORT"))
    var http: String?

    @Option(help: ArgumentHelp("Datasets that exist from the start.", valueName: "a,b"))
    var datasets: String?

    @Option(
        help: ArgumentHelp(
            "First use creates a dataset. (default: true with the embedded broker on loopback, else false)", valueName: "BOOL"))
    var autoCreateDatasets: String?

    @Option(
        help: ArgumentHelp("Patterns of administrators' clients, or dataset/client. (default: admin)", valueName: "PATTERN,…"))
    var admins: String?

    @Option(
        help: ArgumentHelp(
            "mosquitto's password file for the embedded broker. (default: everybody on loopback is trusted)", valueName: "FILE"))
    var users: String?

    @Option(
        help: ArgumentHelp(
            "Webhooks may go to private addresses. (default: true with the embedded broker on loopback, else false)",
            valueName: "BOOL"
        ))
    var webhooksAllowPrivate: String?

    // A negative number is refused as other wrong values are.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long being online may take at the start. (default: 30)", valueName: "SECONDS"))
    var startTimeout: String?

    @Option(help: ArgumentHelp("trace, debug, info, notice, warning (or warn) or error. (default: info)", valueName: "LEVEL"))
    var logLevel: String?

    @Option(help: ArgumentHelp("text or json. (default: text)", valueName: "FORMAT"))
    var logFormat: String?

    @Flag(help: "Print the effective configuration, and exit.")
    var printConfig = false

    @Flag(help: "Check the configuration and the files that it names, and exit.")
    var checkConfig = false

    @Flag(help: "Print mosquitto's access list that this configuration means for a broker of your own, and exit.")
    var printAcl = false

    func run() async throws {
        let sources = sources
        let settings: Settings
        do throws(SettingsError) {
            settings = try sources.settings()
        } catch {
            let mistakes = checkConfig ? sources.mistakes(after: error) : [error.description]
            throw Self.ended(
                error.source == .flag ? .validationFailure : ExitCode(78), mistakes.joined(separator: "\ngeomatchd: "))
        }
        if printConfig { print(settings.text) }
        if checkConfig {
            try Self.end(where: settings.mistakesInFiles)
            for doubt in settings.doubtsInCertificates(at: time(nil)) { StandardError.write("geomatchd: warning: \(doubt)\n") }
            if !printConfig { print("the configuration is right") }
        }
        if printAcl { print(try Self.accessList(of: settings), terminator: "") }
        if printConfig || checkConfig || printAcl { return }
        try Self.end(where: settings.mistakesInCertificates)
        let format = settings.logFormat
        LogThreshold.level = settings.logLevel
        // The reader of the log may go away: that is a failed write, not the end.
        signal(SIGPIPE, SIG_IGN)
        let hangups = Hangups()
        LoggingSystem.bootstrap { _ in LineLogHandler(format: format) }
        let log = Logger(label: "geomatchd")
        OpenFiles.raiseLimit()
        for doubt in settings.doubtsInCertificates(at: time(nil)) { log.warning("\(doubt)") }
        do {
            try await Daemon(settings: settings, version: Self.release, log: log, hangups: hangups, reread: sources.settings)
                .run()
        } catch let failure as Daemon.Failure {
            switch failure {
            case .unavailable(let why): throw Self.ended(ExitCode(69), why)
            case .configuration(let why): throw Self.ended(ExitCode(78), why)
            case .internal(let why): throw Self.ended(ExitCode(70), why)
            }
        }
        log.info("stopped")
    }

    private var sources: SettingsSources {
        let given: [(String, String?)] = [
            ("broker", broker), ("listen", listen), ("data-dir", dataDir), ("store", store),
            ("cluster", cluster), ("node", node), ("http-advertise", httpAdvertise), ("http", http),
            ("datasets", datasets),
            ("auto-create-datasets", autoCreateDatasets), ("admins", admins), ("users", users),
            ("webhooks-allow-private", webhooksAllowPrivate), ("start-timeout", startTimeout), ("log-level", logLevel),
            ("log-format", logFormat),
        ]
        let flags = Dictionary(uniqueKeysWithValues: given.compactMap { key, value in value.map { (key, $0) } })
        let environment = ProcessInfo.processInfo.environment
        return SettingsSources(
            flags: flags, environment: environment, path: config ?? environment["GEOMATCH_CONFIG"],
            isForAccessList: printAcl)
    }

    private static func end(where mistakes: [String]) throws {
        guard !mistakes.isEmpty else { return }
        throw ended(ExitCode(78), mistakes.joined(separator: "\ngeomatchd: "))
    }

    private static func users(of settings: Settings) throws -> [String] {
        guard let path = settings.usersFile else { return [] }
        do throws(EmbeddedBrokerError) {
            return try UsersFile.read(path).names
        } catch {
            throw ended(ExitCode(78), error.description)
        }
    }

    /// For a broker of one's own, where the daemon logs in like others.
    private static func accessList(of settings: Settings) throws -> String {
        if settings.grants != nil, settings.usersFile == nil {
            throw ended(ExitCode(78), "access and live.readers are written out for each user: give --users FILE")
        }
        let daemon = settings.broker?.username ?? "geomatchd"
        let users = try users(of: settings).filter { $0 != daemon }
        var list = AccessList(
            prefix: settings.topicsPrefix, users: users, daemon: daemon, adapterFilters: settings.adapters.map(\.filter),
            grants: settings.grants)
        list.discoveryPrefix = settings.discoveryPrefix
        list.discoveryDatasets = settings.homeAssistant.datasets
        return list.text(for: .mosquitto(datasets: settings.datasets))
    }

    /// Says why on standard error, and ends with this code.
    private static func ended(_ code: ExitCode, _ why: String) -> ExitCode {
        StandardError.write("geomatchd: \(why)\n")
        return code
    }
}
