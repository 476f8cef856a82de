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
            Checks the broker and its access list, the daemon and its version, the dataset with its limits and counters, and the \
            clock of this machine; with --data-dir also the store and the disk, on the daemon's machine. An update on the topic \
            DATASET/-/-/-/-/CLIENT/doctor, cleared again, shows whether live data reaches the daemon. Exit code 0: all is well; \
            1: there are findings, each with what to do.

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
        var checks = await Self.remote(configuration, reading, isNamed: try connection.namesDataset())
        let instants = [reading.status?.member("startedAt"), reading.dataset?.member("at")].compactMap { $0?.asInt64 }
        // Without a daemon's instant there is nothing to compare with.
        if let latest = instants.max() { checks.append(LocalChecks.clock(latest: latest, now: WallClock.now())) }
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
    ///
    /// - Parameter isNamed: Somebody named the dataset.
    private static func remote(
        _ configuration: GeomatchConfiguration, _ reading: StatusReading, isNamed: Bool
    ) async -> [Finding] {
        var quiet = configuration
        quiet.connectionLost = nil
        let client: GeomatchClient
        do throws(GeomatchError) {
            client = try GeomatchClient(quiet)
        } catch {
            return [Finding(configuration, error)]
        }
        var findings: [Finding] = []
        do throws(GeomatchError) {
            try await client.run(reading)
            findings.append(Finding("broker", "\(configuration.brokerName) is reached and takes this login"))
            findings += daemon(reading, configuration)
            if reading.isOnline { findings += await dataset(client, reading, configuration, isNamed: isNamed) }
        } catch {
            findings.append(Finding(configuration, error))
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
        _ client: GeomatchClient, _ reading: StatusReading, _ configuration: GeomatchConfiguration, isNamed: Bool
    ) async -> [Finding] {
        let name = configuration.dataset
        let reply: JSONObject
        do throws(GeomatchError) {
            reply = try await client.reply(to: "dataset/get", [:])
        } catch {
            return [
                Finding(
                    "requests", "no reply: \(error.message)",
                    advice: configuration.loginHint
                        ?? "the broker's access list must let \(configuration.client) publish and read below geomatch/+/\(configuration.client)/ (geomatchd --print-acl)"
                )
            ]
        }
        var findings = [Finding("requests", "requests are answered")]
        if let error = reply["error"] {
            let names = await names(client)
            // Right after it was installed.
            if names?.isEmpty == true { return findings + [Finding("dataset", "there is none yet: the first request makes one")] }
            guard isNamed || error.member("error") != "unknownDataset" else {
                let some = (names ?? []).prefix(5).map(PlainText.printable).joined(separator: ", ")
                let known = some.isEmpty ? "" : "; there is \(some)\((names?.count ?? 0) > 5 ? " and more" : "")"
                return findings + [
                    Finding("dataset", "none was named, so none was checked\(known): geomatch --dataset NAME doctor")
                ]
            }
            let near = names.flatMap { Nearness.nearest(to: name, of: $0) }
            if near == nil, error.member("error") == "unknownDataset" {
                let use = "its first use creates it where auto-create-datasets is on, else an administrator does"
                return findings + [Finding("dataset", "\(name) does not exist: \(use)")]
            }
            let known = near.map { "; did you mean \($0)?" } ?? ""
            findings.append(
                Finding(
                    "dataset", ErrorText.of(error) + known,
                    advice:
                        "name an existing dataset with --dataset, or create it: geomatch --client admin --dataset \(name) dataset create"
                ))
            return findings
        }
        findings.append(Finding("dataset", "\(name) exists"))
        findings.append(await LiveProbe(configuration).finding(client, dataset: reply["result"]))
        findings += Fullness.findings(reply["result"])
        return findings + Counters.findings(reading, now: WallClock.now())
    }

    /// The datasets, where the client may list them.
    private static func names(_ client: GeomatchClient) async -> [String]? {
        guard let reply = try? await client.reply(to: "dataset/list", [:]) else { return nil }
        return reply["result"]?.member("datasets")?.asArray?.compactMap { $0.member("id")?.asString }
    }
}

/// How near a dataset is to its limits.
enum Fullness {
    /// Parts of a limit from which on somebody should know.
    private static let share = 0.9
    private static let keys = ["liveTopics": "live-topics"]

    /// - Parameter dataset: As `dataset/get` shows it; of an older daemon without `limits`.
    static func findings(_ dataset: JSONValue?) -> [Finding] {
        (dataset?.member("limits")?.asObject?.members ?? []).compactMap { limit in
            guard let most = limit.value.asInt64, let count = dataset?.member("counts")?.member(limit.key)?.asInt64,
                Double(count) >= Double(most) * share
            else { return nil }
            return Finding(
                "limits", "\(count) of at most \(most) \(limit.key)",
                advice: count >= most
                    ? "more are refused as `limit`: delete some, or raise limits.\(keys[limit.key] ?? limit.key)"
                    : "delete some, or raise limits.\(keys[limit.key] ?? limit.key), before more are refused as `limit`")
        }
    }
}

/// What the counters of a dataset say is not well.
enum Counters {
    /// What was lost before is no news.
    private static let lately: Int64 = 3_600_000

    /// Counters count since the daemon started: what last rose long ago is said, and is no problem.
    static func findings(_ reading: StatusReading, now: Int64) -> [Finding] {
        findings(reading.dataset, since: reading.status?.member("startedAt")?.asInt64, now: now)
    }

    /// - Parameters:
    ///   - status: As it was published.
    ///   - since: When the daemon started.
    static func findings(_ status: JSONValue?, since: Int64?, now: Int64) -> [Finding] {
        func count(_ group: String, _ name: String) -> Int64 { status?.member(group)?.member(name)?.asInt64 ?? 0 }
        let since = since.map { " since \(PlainText.instant($0))" } ?? ""
        var findings: [Finding] = []
        func add(_ check: String, _ detail: String, last names: [String], advice: String) {
            let last = names.compactMap { status?.member("last")?.member($0)?.asInt64 }.max()
            let text = detail + since + (last.map { ", last at \(PlainText.instant($0))" } ?? "")
            // A daemon that does not say when is taken at its counts.
            let isLate = last.map { now - $0 > lately } ?? false
            findings.append(Finding(check, text, advice: isLate ? nil : advice))
        }
        if status?.member("daemon")?.member("storeWritable")?.asBool == false {
            findings.append(
                Finding(
                    "store", "it cannot be written: what changes something is `internal`, and matches wait",
                    advice: "make room on the disk of the data directory, or repair the database: the daemon's log says why"))
        }
        let (received, refused) = (count("updates", "received"), count("updates", "refused"))
        if refused > 0, refused * 100 >= received {
            add(
                "updates", "\(refused) of \(received) live updates were refused", last: ["refused"],
                advice:
                    "`geomatch watch diagnostics` says of those that come now which and why; of earlier ones the daemon's log does, with log-level: debug"
            )
        }
        if count("updates", "skewed") > 0 {
            add(
                "updates", "\(count("updates", "skewed")) live updates were more than 5 minutes ahead", last: ["skewed"],
                advice: "set the clocks of the devices")
        }
        let (dropped, expired) = (count("matches", "dropped"), count("matches", "expired"))
        if dropped + expired > 0 {
            add(
                "matches", "\(dropped) matches were dropped and \(expired) given up", last: ["dropped", "expired"],
                advice:
                    "geomatch subscription get ID shows `delivery.lastError`; raise limits.pending-matches or repair the target")
        }
        return findings.isEmpty ? [Finding("counters", "nothing of note")] : findings
    }
}
