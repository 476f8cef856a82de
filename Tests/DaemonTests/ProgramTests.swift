import Foundation
import MQTTLink
import Testing

@testable import geomatchd

@Suite("geomatchd on the command line")
struct ProgramTests {
    @Test("The version is one line, and the help names every flag; both end with 0")
    func versionAndHelp() throws {
        #expect(try geomatchd(["--version"]) == Said(out: "\(Geomatchd.release)\n", error: "", code: 0))
        let help = try geomatchd(["--help"])
        #expect(help.code == 0 && help.error.isEmpty)
        for key in SettingsKey.all where !key.isFileOnly { #expect(help.out.contains("--\(key.name) "), "\(key.name)") }
        for flag in ["--config", "--print-config", "--check-config", "--version"] { #expect(help.out.contains(flag)) }
    }

    @Test("Checking the configuration says that it is right, and leaves nothing behind")
    func check() throws {
        let said = try geomatchd(["--check-config"]) { #expect($0.isEmpty) }
        #expect(said == Said(out: "the configuration is right\n", error: "", code: 0))
        let printed = try geomatchd(["--print-config"]) { #expect($0.isEmpty) }
        #expect(printed.code == 0 && printed.error.isEmpty && printed.out == Settings().text + "\n")
    }

    @Test("Checking the configuration misses the users' file that a start would miss, in the same words")
    func checkUsers() throws {
        let missing = try geomatchd(["--check-config", "--users", "missing"])
        let start = try geomatchd(["--users", "missing", "--data-dir", "data"])
        #expect(missing.code == 78 && missing.out.isEmpty, "\(missing)")
        #expect(missing.error.hasPrefix("geomatchd: the users file missing cannot be read: No such file or directory"))
        #expect(start.code == 78 && start.error.hasSuffix(missing.error), "\(start)")
        #expect(try geomatchd(["--check-config", "--users", "users"], files: ["users": ""]).code == 0)
    }

    @Test("A users file beside a broker of one's own was taken and then ignored; only the access list is written for its names")
    func usersBesideBroker() throws {
        let both = ["--broker", "mqtt://h", "--users", "users"]
        for arguments in [both, both + ["--check-config"]] {
            let said = try geomatchd(arguments + ["--data-dir", "data"], files: ["users": ""]) { #expect($0 == ["users"]) }
            #expect(said.code == 64 && said.error.hasPrefix("geomatchd: --broker: `broker` names a broker to use and `users`"))
        }
        let environment = ["GEOMATCH_BROKER": "mqtt://h", "GEOMATCH_USERS": "users"]
        #expect(try geomatchd(["--check-config"], environment: environment, files: ["users": ""]).code == 78)
        #expect(try geomatchd(both + ["--print-acl"], files: ["users": ""]).code == 0)
        let file = ["f.yaml": "users: users\n", "users": ""]
        #expect(try geomatchd(["--broker", "mqtt://h", "--config", "f.yaml", "--check-config"], files: file).code == 0)
    }

    @Test(
        "A key that is not the certificate's, or stands in its place, passed the check and ended the start with 69",
        arguments: [
            ("one.pem", "other.key", "is not that of"), ("one.key", "one.pem", "are swapped"), ("one.pem", "one.key", ""),
        ])
    func certificates(certificate: String, key: String, says: String) throws {
        let files = try Self.certificates()
        for (place, text) in [
            ("listen-tls", "listen-tls: {listen: \"127.0.0.1:1\", certificate-file: \(certificate), key-file: \(key)}"),
            ("http.tls", "http: {listen: \"127.0.0.1:0\", tls: {certificate-file: \(certificate), key-file: \(key)}}"),
        ] {
            let files = files.merging(["f.yaml": text]) { $1 }
            let said = try geomatchd(["--check-config", "--config", "f.yaml"], files: files)
            guard !says.isEmpty else {
                #expect(said.code == 0, "\(said)")
                continue
            }
            #expect(said.code == 78 && said.out.isEmpty && said.error.hasPrefix("geomatchd: `\(place)`: "), "\(said)")
            #expect(said.error.contains(says), "\(said)")
            let start = try geomatchd(["--config", "f.yaml", "--data-dir", "data"], files: files)
            #expect(start == said)
        }
    }

    @Test("A certificate whose time is over passed the check without a word")
    func certificateOfAnotherTime() throws {
        let folder = NSTemporaryDirectory() + "geomatchd-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in try Self.certificates() { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
        var settings = Settings()
        settings.encryptedListener = EmbeddedBrokerConfiguration.EncryptedListener(
            host: "127.0.0.1", port: 1, certificateFile: "\(folder)/one.pem", keyFile: "\(folder)/one.key")
        #expect(settings.doubtsInCertificates(at: time(nil)).isEmpty)
        #expect(settings.doubtsInCertificates(at: 4_000_000_000).first?.contains("was good until 20") == true)
        let early = try #require(settings.doubtsInCertificates(at: 0).first)
        #expect(early.hasPrefix("`listen-tls`: the certificate in \(folder)/one.pem is good from 20"))
    }

    /// Two certificates that sign themselves, and their keys, by the names of their files.
    private static func certificates() throws -> [String: String] {
        let folder = NSTemporaryDirectory() + "geomatchd-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var files: [String: String] = [:]
        for name in ["one", "other"] {
            let openssl = Process()
            openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            openssl.arguments = [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=\(name)", "-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem",
            ]
            openssl.standardError = FileHandle.nullDevice
            try openssl.run()
            openssl.waitUntilExit()
            for file in ["\(name).pem", "\(name).key"] {
                files[file] = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
            }
        }
        return files
    }

    @Test(
        "Checking the configuration took files that are missing",
        arguments: [
            "broker: mqtts://h\ntls: {ca-file: nope}", "broker: mqtts://h\ntls: {certificate-file: nope, key-file: nope}",
            "listen-tls: {listen: \"127.0.0.1:1\", certificate-file: nope, key-file: nope}",
            "http: {listen: \"0.0.0.0:1\", tls: {certificate-file: nope, key-file: nope}}",
            "push: {ca-file: nope, web: {subject: \"mailto:a@example.org\"}}",
            "push: {fcm: {service-account-file: nope}}",
            "push: {apns: {team-id: ABCDE12345, key-id: ABCDE12345, key-file: nope, topic: t}}", "page: {mbtiles: nope}",
        ])
    func missingFiles(_ text: String) throws {
        let said = try geomatchd(["--check-config", "--config", "f.yaml"], files: ["f.yaml": text]) {
            #expect($0 == ["f.yaml"])
        }
        #expect(said.code == 78 && said.out.isEmpty && said.error.contains("nope"), "\(said)")
    }

    @Test(
        "A key of push without another that it needs ended with 64, as a flag that nobody has",
        arguments: [
            ("apns: {team-id: ABCDE12345}", "push.apns.key-id"), ("apns: {url: \"https://h\"}", "push.apns.team-id"),
            ("fcm: {url: \"https://h\"}", "push.fcm.service-account-file"), ("web: {key-file: k}", "push.web.subject"),
        ])
    func missingKeysOfPush(_ text: String, missing: String) throws {
        let said = try geomatchd(["--check-config", "--config", "f.yaml"], files: ["f.yaml": "push: {\(text)}"])
        #expect(said.code == 78 && said.error.hasPrefix("geomatchd: f.yaml: \(missing): is missing: "), "\(said)")
    }

    @Test("Checking the configuration named one missing file, and not by its key")
    func allMissingFiles() throws {
        let text = "users: missing\nlisten-tls: {listen: \"127.0.0.1:1\", certificate-file: a, key-file: b}\npage: {mbtiles: c}\n"
        let said = try geomatchd(["--check-config", "--config", "f.yaml"], files: ["f.yaml": text])
        #expect(said.code == 78 && said.out.isEmpty, "\(said)")
        for line in [
            "geomatchd: the users file missing cannot be read: No such file or directory",
            "geomatchd: listen-tls.certificate-file: a cannot be read: No such file or directory",
            "geomatchd: listen-tls.key-file: b cannot be read: No such file or directory",
            "geomatchd: page.mbtiles: c cannot be read: No such file or directory",
        ] { #expect(said.error.contains(line), "\(said)") }
    }

    @Test("Checking the configuration named missing files only once the values were right")
    func mistakesAndFiles() throws {
        let file = "log-format: xml\nusers: missing\npage: {mbtiles: c}\n"
        let said = try geomatchd(["--check-config", "--config", "f.yaml"], files: ["f.yaml": file])
        let starts = ["f.yaml: log-format: ", "the users file missing cannot be read", "page.mbtiles: c cannot be read"]
        let lines = said.error.split(separator: "\n")
        #expect(said.code == 78 && said.out.isEmpty && lines.count == starts.count, "\(said)")
        for (line, start) in zip(lines, starts) { #expect(line.hasPrefix("geomatchd: " + start), "\(said)") }
        // With a broker of one's own the users are nobody's.
        let other = try geomatchd(["--check-config", "--config", "f.yaml"], files: ["f.yaml": "broker: x://h\nusers: missing\n"])
        #expect(other.code == 78 && !other.error.contains("missing"), "\(other)")
        let negative = try geomatchd(["--check-config", "--start-timeout", "-5"])
        #expect(negative.code == 64 && negative.error.hasPrefix("geomatchd: --start-timeout: `-5` was read"), "\(negative)")
    }

    @Test("Checking the configuration names all mistakes, a start the first one")
    func mistakes() throws {
        let files = [
            "f.yaml": "log-levl: info\nlimits: {geofences: -4}\nlog-format: xml\nkeys: [{key: \"\"}]\nlisten: \"0.0.0.0:1\"\n"
        ]
        let arguments = ["--config", "f.yaml", "--log-level", "loud"]
        let environment = ["GEOMATCH_LISTN": "1", "GEOMATCH_START_TIMEOUT": "0"]
        let said = try geomatchd(arguments + ["--check-config"], environment: environment, files: files)
        let starts = [
            "f.yaml: log-levl: there is no such key; did you mean log-level?", "GEOMATCH_LISTN: there is no such variable",
            "GEOMATCH_START_TIMEOUT: ", "--log-level: ", "f.yaml: log-format: ", "f.yaml: limits.geofences: ", "f.yaml: keys[0]",
        ]
        let lines = said.error.split(separator: "\n")
        #expect(said.code == 78 && said.out.isEmpty)
        for start in starts { #expect(lines.contains { $0.hasPrefix("geomatchd: " + start) }, "\(start) in \(said)") }
        // What is wrong beside other keys only is said when these are right.
        #expect(lines.count == starts.count && !said.error.contains("0.0.0.0"), "\(said)")
        let start = try geomatchd(arguments, environment: environment, files: files)
        #expect(start.code == 78 && start.error.split(separator: "\n") == Array(lines.prefix(1)), "\(start)")
    }

    @Test(
        "A command line that cannot be read is usage, 64",
        arguments: [["--nonsense"], ["--listen"], ["--check-config=yes"], ["-x"], ["start"]])
    func usage(_ arguments: [String]) throws {
        let said = try geomatchd(arguments + ["--check-config"])
        #expect(said.code == 64 && said.out.isEmpty && said.error.contains("Usage"), "\(said)")
    }

    static let wrongValues: [(key: String, value: String)] = [
        ("broker", "http://u:hunter2@h"), ("listen", "here"), ("data-dir", ""), ("store", "mysql://u:hunter2@h/d"),
        ("cluster", "a/b"), ("node", "a/b"), ("http-advertise", "here"), ("http", "here"), ("datasets", "a/b"),
        ("auto-create-datasets", "2"), ("admins", ","), ("users", ""), ("webhooks-allow-private", "2"), ("start-timeout", "0"),
        ("log-level", "loud"), ("log-format", "xml"),
    ]

    @Test(
        "Each key is a flag, a variable and a key of the file; where its value is wrong the first ends with 64, the others with 78"
    )
    func sources() throws {
        #expect(Self.wrongValues.map(\.key) == SettingsKey.all.filter { !$0.isFileOnly }.map(\.name))
        for (key, value) in Self.wrongValues {
            let flag = try geomatchd(["--\(key)", value, "--check-config"])
            let name = SettingsKey.environmentName(key)
            let variable = try geomatchd(["--check-config"], environment: [name: value])
            let file = try geomatchd(["--check-config", "--config", "f.yaml"], files: ["f.yaml": "\(key): \"\(value)\"\n"])
            for (said, code, start) in [(flag, 64, "--\(key)"), (variable, 78, name), (file, 78, "f.yaml: \(key)")] {
                #expect(said.code == code && said.out.isEmpty, "\(said)")
                #expect(said.error.hasPrefix("geomatchd: \(start): ") && !said.error.contains("hunter2"), "\(said)")
                #expect(said.error.hasSuffix("\n") && said.error.filter { $0 == "\n" }.count == 1, "\(said)")
            }
        }
    }

    @Test("A file that cannot be read, or is none, is configuration, 78, and named, regardless of who named it")
    func unreadableFiles() throws {
        for path in ["missing.yaml", ".", "binary.yaml", "list.yaml"] {
            let files = ["list.yaml": "- a\n", "binary.yaml": "a\u{0}b"]
            for said in [
                try geomatchd(["--config", path, "--check-config"], files: files),
                try geomatchd(["--check-config"], environment: ["GEOMATCH_CONFIG": path], files: files),
            ] {
                #expect(said.code == 78 && said.error.hasPrefix("geomatchd: \(path): "), "\(said)")
            }
        }
    }

    @Test("A flag goes before the environment, that before the file, also for which file it is")
    func precedence() throws {
        let files = ["one.yaml": "log-level: error\nstart-timeout: 5\ndata-dir: one", "two.yaml": "data-dir: two\n"]
        let environment = ["GEOMATCH_CONFIG": "one.yaml", "GEOMATCH_LOG_LEVEL": "debug", "GEOMATCH_START_TIMEOUT": "6"]
        let one = try geomatchd(["--start-timeout", "7", "--print-config"], environment: environment, files: files)
        for line in ["data-dir: \"one\"", "log-level: debug", "start-timeout: 7.0"] {
            #expect(one.out.contains(line + "\n"), "\(one)")
        }
        let two = try geomatchd(["--config", "two.yaml", "--print-config"], environment: environment, files: files)
        for line in ["data-dir: \"two\"", "log-level: debug", "start-timeout: 6.0"] {
            #expect(two.out.contains(line + "\n"), "\(two)")
        }
    }

    @Test("What is printed can be given back as a file, and shows no password wherever it came from")
    func printed() throws {
        let url = "mqtts://alice:hunter2@[::1]:2000"
        let file = "broker: \(url)\ntls: {ca-file: \"a # b\"}\ndatasets: [a, b]\nadmins: [\"ops-*\", museum/boss]\nhttp: off\n"
        for (arguments, environment, files) in [
            (["--broker", url], [:], ["f.yaml": file.replacing(url, with: "mqtts://h")]),
            ([], ["GEOMATCH_BROKER": url], ["f.yaml": file.replacing(url, with: "mqtts://h")]),
            ([], [:], ["f.yaml": file]),
        ] {
            let printed = try geomatchd(
                ["--print-config", "--config", "f.yaml"] + arguments, environment: environment, files: files)
            #expect(printed.code == 0 && printed.out.contains("mqtts://[::1]:2000"), "\(printed)")
            #expect(!(printed.out + printed.error).contains("hunter2") && !printed.out.contains("alice"))
            let again = try geomatchd(["--print-config", "--config", "g.yaml"], files: ["g.yaml": printed.out])
            #expect(again.code == 0 && again.out == printed.out.replacing("  # with credentials", with: ""), "\(again)")
        }
    }

    @Test("A listener beyond loopback without users is not checked as right")
    func openListener() throws {
        let said = try geomatchd(["--check-config"], environment: ["GEOMATCH_LISTEN": "0.0.0.0:1883"])
        #expect(said.code == 78)
        for way in ["GEOMATCH_LISTEN", "--users", "127.0.0.1", "--broker"] { #expect(said.error.contains(way), "\(said)") }
        #expect(try geomatchd(["--listen", "0.0.0.0:1883", "--check-config"]).code == 64)
        let users = try geomatchd(["--listen", "0.0.0.0:1883", "--users", "f", "--check-config"], files: ["f": ""])
        #expect(users.code == 0)
    }
}
