import ArgumentParser
import Foundation
import GeomatchClient
import Wire

/// `geomatch doctor`: looks at a running installation and says what to do.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check a running installation, and say what to do.",
        usage: "geomatch doctor [--data-dir DIR]",
        discussion: """
            Checks the broker and its access list, the daemon and its version, the dataset and its counters, and the clock of this \
            machine; with --data-dir also the store and the disk, on the daemon's machine. Exit code 0: all is well; 1: there are \
            findings, each with what to do.

            With --json: {"ok":true,"checks":[{"check","ok","detail","advice"?}]}.

            Example:
              geomatch --dataset demo doctor
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Option(help: ArgumentHelp("The daemon's data directory, on its own machine.", valueName: "DIR"))
    var dataDir: String?

    func run() async throws {
        let configuration = try connection.configuration(needsBroker: true)
        let reading = StatusReading(configuration.topics)
        var checks = await Self.remote(configuration, reading)
        let instants = [reading.status?.member("startedAt"), reading.dataset?.member("at")].compactMap { $0?.asInt64 }
        checks.append(LocalChecks.clock(latest: instants.max(), now: WallClock.now()))
        if let dataDir { checks += LocalChecks.store(in: dataDir) }
        let isWell = checks.allSatisfy(\.isWell)
        if output.json {
            StandardOutput.print(json: ["ok": .bool(isWell), "checks": .array(checks.map(\.json))])
        } else {
            for check in checks { StandardOutput.print(check.text) }
        }
        if !isWell { throw ExitCode(1) }
    }

    /// What can be seen through the broker.
    private static func remote(_ configuration: GeomatchConfiguration, _ reading: StatusReading) async -> [Finding] {
        var quiet = configuration
        quiet.connectionLost = nil
        let client: GeomatchClient
        do throws(GeomatchError) {
            client = try GeomatchClient(quiet)
        } catch {
            return [Finding(broker: configuration.brokerName, error)]
        }
        var findings: [Finding] = []
        do throws(GeomatchError) {
            try await client.run(reading)
            findings.append(Finding("broker", "\(configuration.brokerName) is reached and takes this login"))
            findings += daemon(reading, configuration)
            if reading.isOnline { findings += await dataset(client, reading, configuration) }
        } catch {
            findings.append(Finding(broker: configuration.brokerName, error))
        }
        await client.close()
        return findings
    }

    private static func daemon(_ reading: StatusReading, _ configuration: GeomatchConfiguration) -> [Finding] {
        guard let status = reading.status else {
            return [
                Finding(
                    "daemon", "no geomatchd was ever online at this broker",
                    advice:
                        "start geomatchd with this broker, or check --topics-prefix and whether this login may read \(configuration.topics.status)"
                )
            ]
        }
        let version = status.member("version")?.asString ?? "unknown"
        guard reading.isOnline else {
            let why = status.member("error")?.asString.map { ": \($0)" } ?? ""
            return [
                Finding(
                    "daemon", "geomatchd \(version) is offline\(why)",
                    advice: "start it; its log says why it ended (journalctl -u geomatchd)")
            ]
        }
        var findings = [Finding("daemon", "geomatchd \(version) is online")]
        if let error = status.member("error")?.asString {
            findings.append(Finding("daemon", error, advice: "the daemon's log has more"))
        }
        if version != Geomatch.release {
            findings.append(
                Finding(
                    "version", "geomatch is \(Geomatch.release) and geomatchd \(version)",
                    advice: "install both from the same release"))
        }
        return findings
    }

    private static func dataset(
        _ client: GeomatchClient, _ reading: StatusReading, _ configuration: GeomatchConfiguration
    ) async -> [Finding] {
        let name = configuration.dataset
        let reply: JSONObject
        do throws(GeomatchError) {
            reply = try await client.reply(to: "dataset/get", [:])
        } catch {
            return [
                Finding(
                    "requests", "no reply: \(error.message)",
                    advice:
                        "the broker's access list must let \(configuration.client) publish and read below geomatch/+/\(configuration.client)/ (geomatchd --print-acl)"
                )
            ]
        }
        var findings = [Finding("requests", "requests are answered")]
        if let error = reply["error"] {
            let names = await names(client)
            // Right after it was installed.
            if names?.isEmpty == true { return findings + [Finding("dataset", "there is none yet: the first request makes one")] }
            let known = names.flatMap { Nearness.nearest(to: name, of: $0) }.map { "; did you mean \($0)?" } ?? ""
            findings.append(
                Finding(
                    "dataset", ErrorText.of(error) + known,
                    advice:
                        "name an existing dataset with --dataset, or create it: geomatch --client admin --dataset \(name) dataset create"
                ))
            return findings
        }
        findings.append(Finding("dataset", "\(name) exists"))
        return findings + Counters.findings(reading.dataset)
    }

    /// The datasets, where the client may list them.
    private static func names(_ client: GeomatchClient) async -> [String]? {
        guard let reply = try? await client.reply(to: "dataset/list", [:]) else { return nil }
        return reply["result"]?.member("datasets")?.asArray?.compactMap { $0.member("id")?.asString }
    }
}

/// What the counters of a dataset say is not well.
private enum Counters {
    static func findings(_ status: JSONValue?) -> [Finding] {
        func count(_ group: String, _ name: String) -> Int64 { status?.member(group)?.member(name)?.asInt64 ?? 0 }
        var findings: [Finding] = []
        let (received, refused) = (count("updates", "received"), count("updates", "refused"))
        if refused > 0, refused * 100 >= received {
            findings.append(
                Finding(
                    "updates", "\(refused) of \(received) live updates were refused",
                    advice: "geomatch watch diagnostics says which and why"))
        }
        if count("updates", "skewed") > 0 {
            findings.append(
                Finding(
                    "updates", "\(count("updates", "skewed")) live updates were more than 5 minutes ahead",
                    advice: "set the clocks of the devices"))
        }
        let (dropped, expired) = (count("matches", "dropped"), count("matches", "expired"))
        if dropped + expired > 0 {
            findings.append(
                Finding(
                    "matches", "\(dropped) matches were dropped and \(expired) given up",
                    advice:
                        "geomatch subscription get ID shows `delivery.lastError`; raise limits.pending-matches or repair the target"
                ))
        }
        return findings.isEmpty ? [Finding("counters", "nothing of note")] : findings
    }
}
