import Foundation
import SeededRandom
import Testing

@testable import geomatchd
@testable import Records

@Suite("The configuration file")
struct ConfigurationFileTests {
    @Test(
        "A file that is not YAML is refused with the line, and never with what stands there",
        arguments: [
            "broker: \"mqtt://alice:hunter2@h", "broker: mqtt://alice:hunter2@h: x", "broker: [mqtt://alice:hunter2@h",
            "broker: mqtt://alice:hunter2@h\n\tlisten: x", "broker: 'mqtt://alice:hunter2@h\nlisten: '127.0.0.1:1'",
            "broker: mqtt://alice:hunter2@h\nbroker: mqtt://alice:hunter2@i", "broker: mqtt://alice:hunter2@h\u{1}",
            "broker: *hunter2", "broker: &a mqtt://alice:hunter2@h\n--- {}\n---\nb: 1", "%broker mqtt://alice:hunter2@h",
        ])
    func notYAML(_ text: String) throws {
        let error = try #require(refusal(file: text))
        #expect(error.description.contains("is not YAML: "), "\(error)")
        #expect(!error.description.contains("hunter2") && !error.description.contains("\n"), "\(error)")
    }

    @Test("A line of broken YAML is reported with its number")
    func line() throws {
        #expect(try #require(refusal(file: "listen: 127.0.0.1:1\n# more\nusers: [off\n")).problem.contains("line "))
        #expect(try #require(refusal(file: "http: off\nlisten: a: b\n")).problem.contains("line 2,"))
    }

    @Test("A key that is given twice in YAML is refused, at the top and below")
    func twice() throws {
        for text in ["listen: a:1\nlisten: a:1", "live:\n  qos: 1\n  qos: 1", "live: {qos: 1}\nlive: {readers: a}"] {
            #expect(try #require(refusal(file: text)).problem.contains("twice"), "\(text)")
        }
        for text in ["live.qos: 1\nlive: {qos: 1}", "live: {qos: 1}\nlive.qos: 1"] {
            let error = try #require(refusal(file: text), "\(text)")
            #expect(error.key == "live.qos" && error.problem.contains("twice"), "\(error)")
        }
    }

    @Test("A section without keys, as all of them are comments, is no fault; a value in its place is")
    func sections() throws {
        #expect(try read(file: "live:\n#  qos: 1\nlimits: ~\ntls: {}\ntopics:\n").text == Settings().text)
        for text in ["live: 1", "limits: [a]", "tls: a.pem"] { #expect(refusal(file: text) != nil, "\(text)") }
    }

    @Test(
        "A value where a table belongs is refused with what was read and the keys of the table",
        arguments: [
            ("live: 5", "live", "`5` was read, allowed is a table with qos, input-qos, shared-memory, readers"),
            ("live: [a]", "live", "a list was read, allowed is a table with qos, "),
            ("limits: 5", "limits", "`5` was read, allowed is a table with "),
            ("topics: off", "topics", "`off` was read, allowed is a table with prefix"),
            ("tls: a.pem", "tls", "`a.pem` was read, allowed is a table with ca-file, certificate-file, key-file"),
            ("page: {tiles: x}", "page.tiles", "`x` was read, allowed is a table with url, attribution"),
            ("adapters: 5", "adapters", "`5` was read, allowed is a list of entries with "),
            ("access: {users: a}", "access", "a table was read, allowed is a list of entries with "),
            ("keys: hunter2", "keys", "allowed is a list of entries with key, dataset and client"),
        ])
    func noTables(_ text: String, _ key: String, _ problem: String) throws {
        let error = try #require(refusal(file: text), "\(text)")
        #expect(error.key == key && error.problem.hasPrefix(problem), "\(error)")
    }

    @Test("Keys below a key that has a value of its own are refused with what is allowed")
    func keysBelow() throws {
        for (text, key, takes) in [
            ("listen:\n  port: 1", "listen", "HOST:PORT"), ("live:\n  qos:\n    a: 1", "live.qos", "0 or 1"),
            ("datasets: {a: b}", "datasets", "names"),
        ] {
            let error = try #require(refusal(file: text))
            #expect(error.key == key && error.problem.contains(takes), "\(error)")
        }
    }

    @Test("No value means the default, however YAML writes none")
    func null() throws {
        for none in ["", "~", "null", "Null", "# nothing"] {
            let text = SettingsKey.all.filter { !$0.name.contains(".") }.map { "\($0.name): \(none)" }.joined(separator: "\n")
            #expect(try read(file: text).text == Settings().text, "\(none)")
        }
        #expect(try read(file: "data-dir: '~'\nusers: 'null'").dataDirectory == "~")
    }

    @Test("A list is of plain values")
    func lists() throws {
        for text in ["datasets: [[a]]", "datasets: [{a: b}]", "datasets:\n - - a", "admins: [a, [b]]"] {
            #expect(try #require(refusal(file: text)).problem.contains("list of plain values"), "\(text)")
        }
        for text in ["datasets: [a, ]", "datasets: [a]", "datasets: a", "datasets: ' a '", "datasets:\n- a # one\n"] {
            #expect(try read(file: text).datasets == ["a"], "\(text)")
        }
        #expect(refusal(file: "datasets: [a, '']") != nil)
        // Names are reported as they were read, not put together from their parts.
        #expect(try #require(refusal(file: "datasets: [my dataset]")).problem.contains("`my dataset`"))
    }

    @Test("Line ends and byte order marks of other systems do no harm")
    func otherSystems() throws {
        for text in [
            "live:\r\n  qos: 1\r\nhttp: off\r\n", "\u{FEFF}live:\n  qos: 1\nhttp: off", "---\nlive:\n  qos: 1\nhttp: off\n...\n",
        ] {
            let settings = try read(file: text)
            #expect(settings.liveQoS == 1, "\(text)")
        }
    }

    @Test("The file of the deployment lists every key with its default")
    func deployment() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("deploy/geomatchd.yaml"), encoding: .utf8)
        #expect(try read(file: text).text == Settings().text)
        let lines = text.split(separator: "\n").dropFirst().map { $0.dropFirst(2) }
        let all = try withFile(lines.joined(separator: "\n")) { try ConfigurationFile(path: $0).values }
        for key in SettingsKey.all where !["adapters", "access", "keys", "http"].contains(key.name) {
            #expect(all[key.name] != nil, "\(key.name)")
        }
        let whole = try read(file: lines.joined(separator: "\n").replacing("mqtt:", with: "mqtts:"))
        #expect(whole.adapters.count == 2 && whole.access?.count == 1 && whole.keys.count == 1)
        // An example stands where there is no default.
        let examples =
            [
                "broker", "cluster", "http-advertise", "node", "store", "users", "tls.ca-file", "tls.certificate-file",
                "tls.key-file",
            ]
            + SettingsKey.all.map(\.name).filter {
                $0.hasPrefix("push.") || $0.hasPrefix("listen-tls.") || $0.hasPrefix("http.tls.") || $0.hasPrefix("page.")
            }
        let values = all.filter { !examples.contains($0.key) }.map { "\($0.key): '\($0.value)'" }
        #expect(try read(file: values.joined(separator: "\n")).text == Settings().text)
        #expect(
            try read(file: all.map { "\($0.key): '\($0.value)'" }.joined(separator: "\n").replacing("mqtt:", with: "mqtts:"))
                .usersFile != nil)
    }

    @Test("Any configuration is read back as it was printed, whatever its paths and patterns hold")
    func roundTrip() throws {
        var random = SplitMix64.forTest()
        for _ in 0..<300 {
            var settings = Settings()
            settings.dataDirectory = random.text()
            settings.usersFile = random.chance(50) ? random.text() : nil
            settings.datasets = (0..<random.below(4)).map { _ in random.name() }
            settings.administrators = (0..<random.below(4)).map { _ in random.pattern() }
            settings.liveReaders = (0..<random.below(4)).map { _ in random.pattern() }
            settings.startTimeoutSeconds = Double.random(in: 1...3600, using: &random)
            settings.logLevel = random.pick([.trace, .debug, .info, .notice, .warning, .error])
            settings.liveQoS = random.below(2)
            settings.limits.rememberedReplies = random.below(1_000_001)
            if random.chance(50) {
                settings.broker = .init(
                    host: random.pick(["::1", "h"]), port: 1 + random.below(65_535),
                    tls: random.chance(50) ? .init(caFile: random.text()) : nil)
            }
            let again = try read(file: settings.text)
            #expect(again.text == settings.text)
            #expect(again.dataDirectory.utf8.elementsEqual(settings.dataDirectory.utf8) && again.usersFile == settings.usersFile)
            #expect(again.datasets == settings.datasets && again.administrators == settings.administrators)
            #expect(again.liveReaders == settings.liveReaders && again.broker == settings.broker)
        }
    }

    @Test("Random bytes are read or refused with a text, never a trap")
    func randomBytes() throws {
        var random = SplitMix64.forTest()
        let syntax = Array("live:\n qos1[]{},#&*!|>'\"%@`-?~\t listen.:".utf8)
        for _ in 0..<1500 {
            let bytes = (0..<random.below(60)).map { _ in random.chance(80) ? random.pick(syntax) : UInt8(random.below(256)) }
            let path = NSTemporaryDirectory() + "geomatch-bytes-\(getpid()).yaml"
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            defer { unlink(path) }
            do throws(SettingsError) {
                for key in try ConfigurationFile(path: path).values.keys {
                    #expect(SettingsKey.all.contains { $0.name == key }, "\(bytes)")
                }
            } catch {
                #expect(error.source == .file(path) && !error.problem.isEmpty)
            }
        }
    }
}

extension SplitMix64 {
    /// A path of any characters: those YAML gives a meaning, line ends, marks, other planes.
    fileprivate mutating func text() -> String {
        let special: [UInt32] = [
            0x0A, 0x0D, 0x09, 0x22, 0x27, 0x5C, 0x23, 0x3A, 0x20, 0x7F, 0x85, 0xA0, 0x2028, 0xFEFF, 0xFFFE, 0x1F600,
        ]
        var text = ""
        for _ in 0...below(12) {
            let value = chance(50) ? pick(special) : UInt32(1 + below(chance(70) ? 0x7E : 0x10_FFFF))
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        // Yams leaves a byte order mark at a value's beginning out.
        return text.isEmpty || text.unicodeScalars.first == "\u{FEFF}" ? "." + text : text
    }

    /// A dataset, also one that YAML could take for something else.
    fileprivate mutating func name() -> String {
        pick(["null", "true", "1", "1.5", "-a", "---", "...", ".", "0x1F", "2014-01-01", "A_b-c.d", "no", "_"])
    }

    fileprivate mutating func pattern() -> String {
        pick(["*", "ops-*", "museum/boss", "*/x", "null", "&a", "'", "\"", "[", "# a", "a: b", "!x", "é", "\\"])
    }
}
