import Foundation
import Logging
import SeededRandom
import Testing

@testable import geomatchd
@testable import Records

/// Runs `body` with a file of this text, which is removed afterwards.
func withFile<Result>(_ text: String, _ body: (String) throws -> Result) throws -> Result {
    let path = "/tmp/geomatch-test-\(UInt64.random(in: 0 ... .max)).yaml"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    return try body(path)
}

/// Reads a configuration as the daemon does.
func read(flags: [String: String] = [:], environment: [String: String] = [:], file: String? = nil) throws -> Settings {
    guard let file else { return try SettingsReader(flags: flags, environment: environment, file: nil).settings() }
    return try withFile(file) { path in
        try SettingsReader(flags: flags, environment: environment, file: try ConfigurationFile(path: path)).settings()
    }
}

/// Why a configuration is refused; nil where it is not.
func refusal(flags: [String: String] = [:], environment: [String: String] = [:], file: String? = nil) -> SettingsError? {
    do {
        _ = try read(flags: flags, environment: environment, file: file)
        return nil
    } catch {
        return error as? SettingsError
    }
}

@Suite("Settings")
struct SettingsTests {
    @Test("Without anything given the defaults are those of the contract")
    func defaults() throws {
        let settings = try read()
        #expect(settings.broker == nil)
        #expect(settings.listenHost == "127.0.0.1" && settings.listenPort == 1883)
        #expect(settings.dataDirectory == "./geomatch-data")
        #expect(settings.datasets.isEmpty)
        #expect(settings.autoCreateDatasets && settings.webhooksAllowPrivate)
        #expect(settings.administrators == ["admin"])
        #expect(settings.usersFile == nil)
        #expect(settings.startTimeoutSeconds == 30)
        #expect(settings.logLevel == .info && settings.logFormat == .text)
        #expect(settings.topicsPrefix.isEmpty)
        #expect(settings.liveQoS == 0 && settings.liveInputQoS == 0)
        #expect(settings.liveReaders == ["*"] && settings.access == nil && settings.grants == nil)
        #expect(settings.connectionsMaximum == 10_000 && settings.encryptedListener == nil)
        #expect(settings.limits.datasets == 10_000)
        #expect(settings.limits.liveTopics == 1_000_000 && settings.limits.devices == 1_000_000)
        #expect(settings.limits.attachmentsPerDevice == 1000 && settings.limits.rememberedReplies == 10_000)
    }

    @Test("A flag goes before the environment, that before the file, that before the default")
    func precedence() throws {
        let file = "data-dir: from-file\nlog-level: error\nstart-timeout: 7\n"
        let environment = ["GEOMATCH_DATA_DIR": "from-environment", "GEOMATCH_LOG_LEVEL": "debug"]
        let settings = try read(flags: ["data-dir": "from-flag"], environment: environment, file: file)
        #expect(settings.dataDirectory == "from-flag")
        #expect(settings.logLevel == .debug)
        #expect(settings.startTimeoutSeconds == 7)
        #expect(settings.logFormat == .text)
    }

    @Test("What a higher place gives hides a wrong value below it")
    func hidden() throws {
        #expect(try read(flags: ["log-level": "trace"], environment: ["GEOMATCH_LOG_LEVEL": "loud"]).logLevel == .trace)
    }

    @Test("Every key that is not file-only is a flag and a GEOMATCH_ name; a file-only one is refused in the environment")
    func environmentNames() throws {
        #expect(SettingsKey.environmentName("auto-create-datasets") == "GEOMATCH_AUTO_CREATE_DATASETS")
        #expect(SettingsKey.all.filter { !$0.isFileOnly }.count == 16)
        for key in SettingsKey.all where key.isFileOnly && key.name != "topics.prefix" {
            let said = refusal(environment: [SettingsKey.environmentName(key.name): "1"])?.problem
            #expect(said?.hasSuffix("`\(key.name)` is a key of the configuration file only") == true, "\(key.name)")
        }
    }

    struct Value: Sendable, CustomTestStringConvertible {
        var key: String
        var text: String
        init(_ key: String, _ text: String) { (self.key, self.text) = (key, text) }
        var testDescription: String { "\(key)=\(text)" }
    }

    @Test(
        "A wrong value is refused with its key, what was read and what is allowed",
        arguments: [
            Value("listen", "1883"), Value("listen", ":1883"), Value("listen", "host:"), Value("listen", "host:0"),
            Value("listen", "host:65536"), Value("listen", "host:+80"), Value("listen", "::1:1883"), Value("listen", "[]:1"),
            Value("listen", ""),
            Value("data-dir", ""), Value("http", "8080"), Value("http", "OFF:x"), Value("datasets", "a,,b"),
            Value("datasets", "a/b"),
            Value("datasets", "live"), Value("datasets", "geomatch"), Value("auto-create-datasets", "maybe"),
            Value("auto-create-datasets", "1"),
            Value("admins", "a,,b"), Value("users", ""), Value("webhooks-allow-private", ""), Value("start-timeout", "0"),
            Value("start-timeout", "soon"), Value("start-timeout", "nan"), Value("start-timeout", "1e9"),
            Value("log-level", "critical"),
            Value("log-level", "INFO "), Value("log-format", "xml"),
        ])
    func wrongValues(_ value: Value) throws {
        let takes = try #require(SettingsKey.all.first { $0.name == value.key }?.takes)
        for (error, name) in [
            (refusal(flags: [value.key: value.text]), "--\(value.key)"),
            (
                refusal(environment: [SettingsKey.environmentName(value.key): value.text]),
                SettingsKey.environmentName(value.key)
            ),
        ] {
            let text = try #require(error).description
            #expect(text.hasPrefix(name + ": ") && text.contains("`\(value.text)`") && text.contains(takes), "\(text)")
        }
    }

    @Test(
        "A wrong value of a file-only key is refused with the file, the key, what was read and what is allowed",
        arguments: [
            Value("live.qos", "2"), Value("live.qos", "-1"), Value("live.input-qos", "one"), Value("limits.datasets", "0"),
            Value("limits.live-topics", "1.5"), Value("limits.devices", "99999999999999999999"),
            Value("limits.attachments-per-device", "true"),
            Value("limits.remembered-replies", "-1"), Value("limits.pending-matches", "0"),
            Value("limits.inflight-matches", "10001"),
            Value("topics.prefix", "'a/+'"), Value("topics.prefix", "'#'"), Value("topics.prefix", "'$SYS'"),
            Value("topics.prefix", "'a//b'"),
        ])
    func wrongFileValues(_ value: Value) throws {
        let parts = value.key.split(separator: ".")
        let error = try #require(refusal(file: "\(parts[0]):\n  \(parts[1]): \(value.text)\n"))
        let takes = try #require(SettingsKey.all.first { $0.name == value.key }?.takes)
        let shown = value.text.trimmingCharacters(in: ["'"])
        #expect(error.description.contains(".yaml: \(value.key): `\(shown)` was read, allowed is \(takes)"), "\(error)")
    }

    @Test("The broker's URL is refused without its credentials")
    func wrongBroker() throws {
        for url in [
            "http://user:secret@host", "user:secret@", "mqtt://user:secret@", "mqtt://user:secret@host:port",
            "mqtt://u:secret%@h",
        ] {
            let text = try #require(refusal(flags: ["broker": url])).description
            #expect(text.hasPrefix("--broker: ") && !text.contains("secret"), "\(text)")
        }
    }

    @Test(
        "A key that does not exist is refused with the nearest one, or with those that do exist",
        arguments: [
            ("lisen: x", "lisen", "did you mean listen?"), ("data_dir: x", "data_dir", "did you mean data-dir?"),
            ("live:\n  qoss: 1", "live.qoss", "did you mean live.qos?"),
            ("limits:\n  a:\n    b: 1", "limits.a", "did you mean limits."),
            ("limits:\n  device: 1", "limits.device", "did you mean limits.devices?"), ("1: 2", "1", "the keys are "),
            ("homeassistant: x", "homeassistant", "did you mean home-assistant?"),
            ("listen-tls:\n  a: 1", "listen-tls.a", "the keys are listen-tls.listen, listen-tls.certificate-file, "),
        ])
    func unknownKeys(_ file: String, _ key: String, _ advice: String) throws {
        let error = try #require(refusal(file: file), "\(file)")
        #expect(error.key == key, "\(error)")
        #expect(error.description.contains("there is no such key; \(advice)"), "\(error)")
    }

    @Test("A section's name with a value, and a key with keys below it, say what is allowed")
    func shapes() throws {
        #expect(
            try #require(refusal(file: "listen:\n  port: 1")).description.contains(
                "listen: has keys below it, allowed is HOST:PORT"))
    }

    @Test(
        "A variable that is almost one of the daemon's is refused; the command line's are let be",
        arguments: [
            ("GEOMATCH_LISTN", "did you mean GEOMATCH_LISTEN?"),
            ("GEOMATCH_LIVE_QOS", "`live.qos` is a key of the configuration file only"),
            ("GEOMATCH_ZEBRA", "the variables are GEOMATCH_BROKER, "), ("GEOMATCH_DATASET", nil), ("GEOMATCH_CLIENT", nil),
            ("GEOMATCH_CONTEXT", nil), ("GEOMATCH_CONFIG", nil), ("OTHER_LISTN", nil),
        ] as [(String, String?)])
    func variables(_ name: String, _ advice: String?) throws {
        let error = refusal(environment: [name: "1"])
        guard let advice else { return #expect(error == nil) }
        #expect(try #require(error).description.hasPrefix("\(name): there is no such variable; \(advice)"))
    }

    @Test("A reload changes users, access, certificates, adapters and the log level, and names what waits for a restart")
    func reloaded() throws {
        let old = try read(file: "log-level: info\nlisten: 127.0.0.1:1\n")
        let new = try read(
            file: "log-level: debug\nlisten: 127.0.0.1:2\nlimits: {devices: 5}\naccess: [{users: ann}]\nlive: {readers: [ann]}\n")
        let next = old.reloaded(from: new)
        #expect(next.keysThatDiffer(from: old) == ["log-level", "live", "access"])
        #expect(new.keysThatDiffer(from: next) == ["listen", "limits"])
        #expect(next.logLevel == .debug && next.listenPort == 1)
        #expect(old.keysThatDiffer(from: old).isEmpty)
    }

    @Test("A key that is given twice is refused, however it is nested")
    func duplicates() {
        #expect(refusal(file: "listen: 127.0.0.1:1\nlisten: 127.0.0.1:2") != nil)
        #expect(refusal(file: "live.qos: 1\nlive:\n  qos: 0") != nil)
    }

    @Test("YAML's own forms are read: an unquoted off, lists, nesting or dots, comments, null")
    func forms() throws {
        for off in ["http: off", "http: 'off'"] { #expect(refusal(file: off) == nil) }
        #expect(try read(file: "auto-create-datasets: off").autoCreateDatasets == false)
        #expect(try read(file: "datasets: [a, b]").datasets == ["a", "b"])
        #expect(try read(file: "datasets:\n  - a\n  - b-2\n").datasets == ["a", "b-2"])
        #expect(try read(file: "datasets: a, b").datasets == ["a", "b"])
        #expect(try read(file: "datasets: []").datasets.isEmpty)
        #expect(try read(file: "datasets: [1, 2014-01-01]").datasets == ["1", "2014-01-01"])
        #expect(try read(file: "admins: [\"ops-*\", museum/boss]").administrators == ["ops-*", "museum/boss"])
        #expect(try read(file: "live:\n  qos: 1\n  readers: [a*]").liveQoS == 1)
        #expect(try read(file: "live.qos: 1").liveQoS == 1)
        #expect(try read(file: "topics:\n  prefix: site/1").topicsPrefix == "site/1/")
        #expect(try read(file: "topics:\n  prefix: site/").topicsPrefix == "site/")
        #expect(try read(file: "broker: mqtt://h # mine").broker?.host == "h")
        #expect(try read(file: "users:\nbroker: ~").usersFile == nil)
        #expect(try read(file: "").listenPort == 1883)
        #expect(try read(file: "# nothing\n").listenPort == 1883)
        #expect(try read(file: "limits: { devices: 5 }").limits.devices == 5)
    }

    @Test("Defaults follow the broker: only the embedded one on loopback trusts everybody")
    func brokerDefaults() throws {
        #expect(try read(flags: ["listen": "[::1]:1883"]).autoCreateDatasets)
        #expect(try read(flags: ["listen": "localhost:1883"]).webhooksAllowPrivate)
        let own = try read(flags: ["broker": "mqtt://127.0.0.1"])
        #expect(!own.autoCreateDatasets && !own.webhooksAllowPrivate)
        let open = try read(flags: ["listen": "0.0.0.0:1883", "users": "file"])
        #expect(!open.autoCreateDatasets && !open.webhooksAllowPrivate)
        #expect(try read(flags: ["broker": "mqtt://h", "auto-create-datasets": "true"]).autoCreateDatasets)
    }

    @Test("A listener beyond loopback without users is refused and names the ways out")
    func openListener() throws {
        for host in ["0.0.0.0", "[::]", "192.168.1.5", "example.org", "127.evil.example"] {
            let text = try #require(refusal(flags: ["listen": "\(host):1883"]), "\(host)").description
            for way in ["--users", "127.0.0.1", "--broker"] { #expect(text.contains(way)) }
            #expect(refusal(flags: ["listen": "\(host):1883", "users": "f"]) == nil)
            let other = try #require(refusal(file: "listen-tls: {listen: '\(host):8883', certificate-file: c, key-file: k}"))
            #expect(other.description.contains("--users") && other.key == "listen-tls.listen")
        }
    }

    @Test(
        "A broker to use and an address for an own one are refused together, whichever are flags and variables; a file may have both"
    )
    func brokerAndListen() throws {
        let (broker, listen) = (["broker": "mqtt://h"], ["listen": "127.0.0.1:1"])
        let (brokerVariable, listenVariable) = (["GEOMATCH_BROKER": "mqtt://h"], ["GEOMATCH_LISTEN": "127.0.0.1:1"])
        #expect(refusal(flags: broker.merging(listen) { $1 })?.source == .flag)
        #expect(refusal(flags: broker, environment: listenVariable)?.source == .flag)
        #expect(refusal(flags: listen, environment: brokerVariable)?.source == .flag)
        #expect(refusal(environment: brokerVariable.merging(listenVariable) { $1 })?.source == .environment)
        #expect(refusal(flags: broker, file: "listen: 127.0.0.1:1") == nil)
        #expect(refusal(file: "broker: mqtt://h\nlisten: 127.0.0.1:1") == nil)
    }

    @Test("An encrypted listener has three keys and a port of its own")
    func encryptedListener() throws {
        let whole = "listen-tls:\n  listen: 127.0.0.1:8883\n  certificate-file: c.pem\n  key-file: k.pem\n"
        let listener = try #require(try read(file: whole).encryptedListener)
        #expect(listener.port == 8883 && listener.certificateFile == "c.pem" && listener.keyFile == "k.pem")
        let printed = try read(file: whole).text
        #expect(try read(file: printed).encryptedListener == listener)
        #expect(refusal(file: "listen-tls:\n  listen: 127.0.0.1:8883")?.description.contains("key-file") == true)
        #expect(refusal(file: whole.replacing("8883", with: "1883"))?.description.contains("port") == true)
        #expect(try !read(flags: ["users": "f"], file: whole.replacing("127.0.0.1", with: "0.0.0.0")).autoCreateDatasets)
    }

    @Test("What is allowed and unwise is warned of: a plain listener beyond loopback, a password in a flag")
    func warnings() throws {
        #expect(try read().warnings.isEmpty)
        let open = try read(flags: ["listen": "0.0.0.0:1883", "users": "f"]).warnings
        #expect(open.count == 1 && open[0].contains("listen-tls"))
        let password = try read(flags: ["broker": "mqtt://u:secret@h", "http": "off"]).warnings
        #expect(password.count == 1 && password[0].contains("GEOMATCH_BROKER") && !password[0].contains("secret"))
        #expect(try read(environment: ["GEOMATCH_BROKER": "mqtt://u:secret@h"], file: "http: off").warnings.isEmpty)
        let users = try read(flags: ["broker": "mqtt://h"], file: "users: f").warnings
        #expect(users.count == 1 && users[0].contains("embedded broker"))
        // Who has no login for the broker is an administrator over HTTP.
        let trusting = try read(environment: ["GEOMATCH_BROKER": "mqtt://u:secret@h"]).warnings
        #expect(trusting.count == 1 && trusting[0].contains("HTTP trusts everybody on this machine"))
        #expect(try read(environment: ["GEOMATCH_BROKER": "mqtt://h"]).warnings.isEmpty)
    }

    @Test("A port alone is refused with the address that was probably meant")
    func portAlone() {
        #expect(refusal(flags: ["listen": "23003"])?.description.hasSuffix("; try 127.0.0.1:23003") == true)
        #expect(refusal(flags: ["http": "8080"])?.description.contains("try 127.0.0.1:8080") == true)
        #expect(refusal(flags: ["listen": "host"])?.description.contains("try") == false)
    }

    @Test("warn is a log level, too")
    func warn() throws {
        #expect(try read(flags: ["log-level": "warn"]).logLevel == .warning)
    }

    @Test("TLS files are for an encrypted broker")
    func tls() throws {
        #expect(try read(file: "broker: mqtts://h\ntls:\n  ca-file: ca.pem").broker?.tls?.caFile == "ca.pem")
        let text = try #require(refusal(file: "broker: mqtt://h\ntls:\n  key-file: key.pem")).description
        #expect(text.contains("tls.key-file") && text.contains("mqtts://"))
    }

    @Test("The configuration as printed reads back as the same, and shows no credentials")
    func printed() throws {
        let settings = try read(
            flags: ["listen": "[::1]:1", "datasets": "a,b", "http": "off"], file: "live:\n  qos: 1\ntopics:\n  prefix: 'x y'")
        #expect(try read(file: settings.text).text == settings.text)
        #expect(try read(file: settings.text).listenHost == "::1")
        let secret = try read(flags: ["broker": "mqtts://user:secret@h:1", "data-dir": "a: #b"])
        #expect(!secret.text.contains("secret"))
        #expect(try read(file: secret.text).dataDirectory == "a: #b")
    }

    @Test("HOST:PORT takes any bytes without a trap, and gives back what it was made of")
    func hostAndPortFuzz() {
        var random = SplitMix64.forTest()
        let alphabet = Array("[]:.0123456789-+ax%é\u{0}\n")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0...14, using: &random)).map { _ in
                    alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                })
            guard let (host, port) = SettingsReader.hostAndPort(text) else { continue }
            #expect((1...65_535).contains(port) && !host.isEmpty, "\(text)")
            let written = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            #expect(SettingsReader.hostAndPort(written).map { $0.0 == host && $0.1 == port } == true, "\(text)")
        }
    }

    @Test("A file of any bytes is read or refused, never a trap")
    func fileFuzz() throws {
        var random = SplitMix64.forTest()
        let seed = Array(
            "live:\n  qos: 1\nlisten: '127.0.0.1:1'\ndatasets: [a, *b, &c d]\nlimits: {devices: !!int 5}\n? x\n: - |\n  <<: *a\n"
                .utf8)
        for _ in 0..<1500 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                switch Int.random(in: 0...2, using: &random) {
                case 0: bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(Int.random(in: 0..<bytes.count / 2, using: &random)..<(bytes.count / 2))
                default: bytes.insert(contentsOf: seed.suffix(Int.random(in: 0...30, using: &random)), at: bytes.count / 2)
                }
                if bytes.isEmpty { bytes = seed }
            }
            let path = "/tmp/geomatch-fuzz-\(getpid()).yaml"
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            defer { unlink(path) }
            do {
                _ = try SettingsReader(flags: [:], environment: [:], file: try ConfigurationFile(path: path)).settings()
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }

    @Test("A file that grows without end or nests without end is refused")
    func yamlBombs() {
        let levels = (1...12).map { "a\($0): &a\($0) [\(Array(repeating: "*a\($0 - 1)", count: 10).joined(separator: ","))]" }
        #expect(refusal(file: "a0: &a0 [x]\n" + levels.joined(separator: "\n")) != nil)
        #expect(refusal(file: String(repeating: "[", count: 50_000)) != nil)
        #expect(refusal(file: String(repeating: "{a: ", count: 20_000)) != nil)
    }

    @Test("A file that is missing, a folder, or not UTF-8 is reported with its name")
    func unreadableFiles() {
        for path in ["/nowhere/geomatch.yaml", "/tmp"] {
            let error = #expect(throws: SettingsError.self) { _ = try ConfigurationFile(path: path) }
            #expect(error?.description.contains(path) == true && error?.description.contains("cannot be read") == true)
        }
    }
}
