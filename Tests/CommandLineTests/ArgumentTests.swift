import Foundation
import GeomatchClient
import Loopback
import Testing
import Wire

@testable import geomatch

@Suite("Arguments")
struct ArgumentTests {
    @Test(
        "Common options may stand before the subcommand",
        arguments: [
            ("device create id=x", "request device create id=x"),
            ("--dataset d device list", "request --dataset d device list"),
            ("--dataset d --json watch matches", "watch --dataset d --json matches"),
            ("--broker=mqtt://h watch live a", "watch --broker=mqtt://h live a"),
            ("watch --dataset d matches", "watch --dataset d matches"),
            ("--json eval distance 0 0 0 1", "eval distance --json 0 0 0 1"),
            ("--broker b eval topic a b", "eval topic a b"),
            ("eval --json topic a b", "eval topic --json a b"),
            ("--dataset d import --json structure f", "import structure --dataset d --json f"),
            ("--client watch watch matches", "watch --client watch matches"),
            ("--client watch device create", "request --client watch device create"),
            ("request watch list", "request watch list"),
            ("--dataset d --help", "--help"),
            ("--dataset d", "request --dataset d"),
            ("--dataset", "request --dataset"),
            ("-- device list", "request -- device list"),
            ("help watch", "help watch"),
            ("--json explain a b", "explain --json a b"), ("demo a b", "demo a b"),
            ("--dataset d demo --json building", "demo building --dataset d --json"),
            ("places near 40.7 -74 --radius 5", "places near 40.7  -74 --radius 5"),
            ("eval distance 0 -1 0 1", "eval distance 0 -1 0 1"),
            ("eval distance --json -1 -1 0 1", "eval distance --json -1 -1 0 1"),
            ("places near 0 0 --radius -5", "places near 0 0 --radius=-5"),
            ("watch matches --count -1 -- --count -1", "watch matches --count=-1 -- --count -1"),
            ("pub t -5 --qos 1", "pub t --qos 1 -- -5"), ("pub t -- -5", "pub t -- -5"),
            ("pub t --retain -5", "pub t --retain -- -5"),
            ("--generate-completion-script zsh", "--generate-completion-script zsh"),
            ("", ""),
        ])
    func arranged(_ written: String, _ expected: String) throws {
        let words = { (text: String) in text.split(separator: " ").map(String.init) }
        // What the parser would take for an option has a space before it, which is no separator here.
        #expect(try Invocation.arranged(words(written)).map { $0.filter { $0 != " " } } == words(expected))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var words: [String]
        var environment: [String: String] = [:]
        /// The first line.
        var error: String
        var code: Int32 = 64
        var testDescription: String { words.joined(separator: " ") }
    }

    private static func mistyped(_ words: String, _ meant: String) -> Row {
        let words = words.split(separator: " ").map(String.init)
        return Row(words: words, error: "geomatch: \"\(words[0])\": there is no such command; did you mean \(meant)?")
    }

    @Test(
        "What is wrong is said with its name and ends with the code of its kind",
        arguments: [
            Row(words: [], error: "Error: Missing expected argument '<resource>'"),
            Row(words: ["device"], error: "geomatch: a verb is missing:"),
            Row(
                words: ["stauts"],
                error: "geomatch: \"stauts\": there is no such command; did you mean status?"),
            Row(
                words: ["demo", "bulding"],
                error: "geomatch: \"bulding\": demo has no subcommand of this name; did you mean building?"),
            Row(
                words: ["places", "near", "-91", "-7"],
                error: "Error: -91.0 -7.0 is no position: ±90 and ±180 degrees are allowed"),
            Row(
                words: ["places", "near", "1", "-7", "--radius", "-5"],
                error: "Error: --radius is -5.0: more than 0 and at most 20037509 metres are allowed"),
            Row(words: ["watch", "matches", "--count", "-1"], error: "Error: --count is -1: 1 or more is allowed"),
            Row(
                words: ["--timeout", "-3", "a", "b"],
                error: "geomatch: --timeout is -3.0: more than 0 and at most 86400 seconds are allowed"),
            Row(words: ["help", "xyzzy"], error: "geomatch: \"xyzzy\": there is no such command; geomatch --help lists them"),
            Row(words: ["xyzzy", "--help"], error: "geomatch: \"xyzzy\": there is no such command; geomatch --help lists them"),
            Row(words: ["help", "stauts"], error: "geomatch: \"stauts\": there is no such command; did you mean status?"),
            Row(
                words: ["help", "demo", "bulding"],
                error: "geomatch: \"bulding\": demo has no subcommand of this name; did you mean building?"),
            Row(words: ["--bogus", "x"], error: "geomatch: unknown option --bogus; geomatch --help lists the known ones"),
            Row(
                words: ["device", "list", "--bogus"],
                error: "geomatch: device list has no option --bogus; parameters are key=value words"),
            Row(
                words: ["device", "list", "--dataste", "d"], error: "Error: Unknown option '--dataste'. Did you mean '--dataset'?"
            ),
            Row(
                words: ["device", "list", "x"],
                error:
                    "geomatch: \"x\" is neither key=value nor a JSON object; a value with spaces is written in quotes: 'name=At home'"
            ),
            Row(
                words: ["geofence", "insde", "home"],
                error: "geomatch: there is no request `geofence/insde`; did you mean `geomatch geofence inside`?"),
            Row(words: ["device", "list", "{", "a=1"], error: "geomatch: a JSON object must be alone; \"a=1\" follows it"),
            Row(
                words: ["device", "list", "{]"],
                error:
                    "geomatch: the parameters are refused: the payload is not JSON: line 1, column 2: a name in double quotes or \"}\" is expected, not \"]\""
            ),
            Row(words: ["a/b", "c"], error: "geomatch: \"a/b\" is not a resource or verb: not empty, no / + #"),
            Row(
                words: ["--broker", "http://h", "a", "b"],
                error:
                    "geomatch: --broker: a broker is written host:port, mqtt://host:port or mqtts://host:port; the scheme \"http\" is another"
            ),
            Row(
                words: ["a", "b"], environment: ["GEOMATCH_CONTEXT": "mqtt://h:0"],
                error: "geomatch: the broker in the context: \"0\" is not a port; allowed are 1 to 65535", code: 78),
            Row(
                words: ["a", "b"], environment: ["GEOMATCH_CLIENT": "a/b"],
                error: "geomatch: GEOMATCH_CLIENT: \"a/b\" is not one level of a topic: not empty, no / + #", code: 78),
            Row(
                words: ["--dataset", "", "a", "b"],
                error: "geomatch: --dataset: \"\" is not one level of a topic: not empty, no / + #"),
            Row(
                words: ["a", "b", "--timeout", "0"],
                error: "geomatch: --timeout is 0.0: more than 0 and at most 86400 seconds are allowed"),
            Row(
                words: ["watch", "nothing"],
                error:
                    "Error: The value 'nothing' is invalid for '<subject>'. Please provide one of the following:"
            ),
            Row(
                words: ["watch", "matches", "--where", "a = 1"],
                error: "Error: only `watch live` takes --where, --within, --min-interval and --direct"),
            Row(
                words: ["watch", "live", "--direct", "--min-interval", "5"],
                error: "Error: --where, --within and --min-interval need the daemon, without --direct"),
            Row(words: ["watch", "live", "--within", "{"], error: "geomatch: --within is not JSON"),
            Row(words: ["device", "get", "id=1", "--all"], error: "Error: --all is for list and snapshot: get has no pages"),
            Row(words: ["demo", "building", "--floors", "0"], error: "Error: --floors is 0: 1 to 100 are allowed"),
            Row(words: ["demo", "building", "--speed", "0"], error: "Error: --speed is 0.0: a number above 0 is allowed"),
            Row(words: ["bench", "--updates", "0"], error: "Error: --updates is 0: 1 to 10000000 are allowed"),
            Row(words: ["bench", "--devices", "1000"], error: "Error: --devices is 1000: 1 to 999 are allowed"),
            Row(words: ["bench", "--rate", "0.5"], error: "Error: --rate is 0.5: 1 to 1000000 are allowed"),
            Row(words: ["bench", "--window", "0"], error: "Error: --window is 0: 1 to 100000 are allowed"),
            Row(words: ["watch", "matches", "a"], error: "geomatch: only `watch live` takes criteria"),
            Row(
                words: ["watch", "matches", "--devcie", "x"],
                error: "Error: Unknown option '--devcie'. Did you mean '--device'?"),
            Row(
                words: ["device", "list", "--limit", "5"],
                error: "geomatch: device list has no option --limit; parameters are key=value words: limit=..."),
            Row(
                words: ["device", "list", "--limti=5"],
                error: "geomatch: device list has no option --limti; parameters are key=value words: limit=..."),
            Row(words: ["geofence"], error: "geomatch: a verb is missing:"),
            mistyped("wathc matches", "watch"), mistyped("explian a b", "explain"), mistyped("replya x", "replay"),
            mistyped("bakcup x", "backup"),
            Row(
                words: ["watch", "live", "a+"],
                error: "geomatch: the criteria are no topic filter: `+` must stand alone in its level"),
            Row(
                words: ["pub", "a/+", "{}"],
                error: "geomatch: MQTT does not allow the topic \"a/+\": a topic must not contain `+` or `#`"),
            Row(words: ["pub", "a", "{}", "--qos", "2"], error: "Error: --qos is 2: 0 and 1 are allowed"),
            Row(words: ["replay", "/absent.csv"], error: "geomatch: /absent.csv cannot be read: No such file or directory"),
            Row(words: ["replay", "x.csv", "--speed", "0"], error: "Error: --speed is 0.0: a number above 0 is allowed"),
            Row(
                words: ["eval", "distance", "1", "2"],
                error: "Error: LAT1 LON1 LAT2 LON2 are needed, or - for standard input; 2 arguments were given"),
            Row(words: ["eval", "distance", "1", "2", "3", "--four"], error: "Error: Unknown option '--four'"),
            Row(words: ["eval", "topic", "-", "--bogus"], error: "Error: Unknown option '--bogus'"),
        ])
    func refused(_ row: Row) throws {
        let said = try CommandLineRun(row.words, environment: row.environment).finish()
        #expect(said.error.split(separator: "\n").first.map(String.init) == row.error)
        #expect(said.code == row.code)
        #expect(said.out == "")
    }

    @Test("A broker that is not there ends with 69 and says what to do")
    func unreachable() throws {
        let port = Loopback.freePort()
        #expect(
            try geomatch("--broker", "mqtt://127.0.0.1:\(port)", "device", "list")
                == Said(
                    out: "",
                    error: """
                        geomatch: mqtt://127.0.0.1:\(port): broker not reached: Connection refused
                        Is geomatchd, or your broker, running there? --broker, --http or --context names another one.

                        """, code: 69))
    }

    @Test("A file of certificates that is not there left a command waiting for ever")
    func missingAuthority() throws {
        for (option, address) in [("--broker", "mqtts://127.0.0.1:1"), ("--http", "https://127.0.0.1:1")] {
            let said = try geomatch(option, address, "--ca-file", "/no/ca.pem", "device", "list")
            #expect(
                said
                    == Said(
                        out: "", error: "geomatch: --ca-file: /no/ca.pem cannot be read: No such file or directory\n", code: 64))
        }
    }

    @Test(
        "What answers, and is something else, is named with what to write instead",
        arguments: [
            (
                "mqtts://h:1: broker not reached: OpenSSL Error[0]: error:0A000126:SSL routines::unexpected eof while reading",
                "mqtt://"
            ),
            ("mqtts://h:1: broker not reached: OpenSSL Error[0]: error:0A00010B:SSL routines::wrong version number", "mqtt://"),
            ("https://h:1: broker not reached: no TLS is spoken there", "http://"),
            ("mqtt://h:1: broker not reached: Connection reset by peer", "mqtts://"),
            ("mqtt://h:1: broker not reached: the other side closed the connection", "mqtts://"),
            ("http://h:1: connection lost: the connection ended", "https://"),
            ("mqtt://h:1: broker not reached: A network protocol error occurred", "--http http://"),
            ("mqtts://h:1: broker not reached: certificate verify failed", "--ca-file"),
            ("mqtt://h:1: broker not reached: Connection refused", "running there?"),
        ])
    func otherProtocols(_ message: String, _ advice: String) {
        let failure = CommandFailure(GeomatchError(.connectionLost, message))
        #expect(failure.message.hasPrefix(message + "\n") && failure.message.contains(advice), "\(failure.message)")
    }

    @Test("Version, help and completion scripts")
    func about() throws {
        #expect(try geomatch("--version") == Said(out: "\(Geomatch.release)\n", error: "", code: 0))
        #expect(try geomatch("--help").out.contains("RESOURCE VERB [key=value ... | JSON]"))
        for command in HelpTests.names(Geomatch.self) {
            let said = try geomatch(command, "--help")
            #expect(said.code == 0)
            #expect(said.out.contains("xample") || command == "eval")
        }
        for shell in ["bash", "zsh", "fish"] {
            #expect(try geomatch("--generate-completion-script", shell).out.contains("geomatch"))
        }
    }

    @Test(
        "Completion knows the resources, verbs and parameters of requests",
        arguments: [
            (["dev"], "device"), (["device", "cr"], "create"),
            (["--dataset", "d", "device", "create", "devi"], "deviceType= deviceToken="),
            (["request", "device", "cr"], "create"), (["wat"], "watch"), (["geofence", "ex"], "export explain"),
            (["--dataset", "dev"], ""),
        ])
    func completion(_ words: [String], _ offered: String) throws {
        let line = words.map { "'\($0)'" }.joined(separator: " ")
        let script =
            try geomatch("--generate-completion-script", "bash").out + """

                COMP_WORDS=(geomatch \(line)); COMP_CWORD=\(words.count); COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
                _geomatch_or_request geomatch "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"; echo "${COMPREPLY[*]}"
                """
        let bash = Process()
        let pipe = Pipe()
        bash.executableURL = URL(fileURLWithPath: "/bin/bash")
        bash.arguments = ["-O", "extglob", "-c", script]
        bash.standardOutput = pipe
        try bash.run()
        let said = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        bash.waitUntilExit()
        #expect(said == offered + "\n")
    }

    @Test("What was refused or lost long ago is said with when, and is no problem")
    func counters() throws {
        func findings(_ last: String) throws -> [Finding] {
            let status = #"{"updates":{"received":3,"refused":1},"matches":{"dropped":1,"expired":2}\#(last)}"#
            return Counters.findings(try JSONValue.parse(status), since: 0, now: 10_000_000)
        }
        let lately = try findings(#","last":{"refused":9000000,"dropped":1,"expired":9000000}"#)
        #expect(lately.map(\.isWell) == [false, false])
        #expect(lately[0].detail.hasPrefix("1 of 3 live updates were refused since 1970-01-01T00:00:00"), "\(lately)")
        let former = try findings(#","last":{"refused":1000000,"dropped":1,"expired":9000000}"#)
        #expect(former.map(\.isWell) == [true, false] && former[0].detail.contains(", last at 1970-01-01T00:16:40"))
        let full = try findings(#","last":{"refused":1000000,"dropped":1,"expired":1000000},"daemon":{"storeWritable":false}"#)
        #expect(full.map(\.isWell) == [false, true, true] && full[0].detail.hasPrefix("it cannot be written"))
        // A daemon of before says no instants.
        #expect(try findings("").map(\.isWell) == [false, false])
    }

    @Test("A category is known again by nearly its id, or the part behind its `=`")
    func nearCategory() {
        let ids = ["amenity=cafe", "shop=bakery", "station"]
        for (word, near) in [("caffe", "amenity=cafe"), ("statoin", "station"), ("amenity=cafe", nil), ("zoo", nil)] {
            #expect(PlacesNearCommand.nearest(to: word, of: ids) == near)
        }
    }

    @Test("A client that is not the login is named where the broker refuses a topic")
    func otherLogin() throws {
        func hint(_ words: [String]) throws -> String? {
            try ConnectionOptions.parse(words).configuration(environment: [:]).loginHint
        }
        #expect(
            try hint(["--broker", "mqtt://admin:x@h", "--client", "me"])?.contains("login is admin and the client me") == true)
        #expect(try hint(["--broker", "mqtt://admin:x@h"]) == nil)
        #expect(try hint(["--client", "me"]) == nil)
    }

    @Test("Flags go before the environment, the user in the address before the default client")
    func configuration() throws {
        let environment = [
            "GEOMATCH_CONTEXT": "mqtt://ann@h:1", "GEOMATCH_BROKER": "mqtt://daemons", "GEOMATCH_DATASET": "e",
            "GEOMATCH_TOPICS_PREFIX": "site",
        ]
        var options = try ConnectionOptions.parse([])
        func name(_ found: GeomatchConfiguration) -> [String] { [found.topicsPrefix, found.dataset, found.client] }
        var found = try options.configuration(environment: [:])
        #expect(found.brokerName == "mqtt://127.0.0.1:1883")
        #expect(name(found) == ["", "default", "cli"])
        found = try options.configuration(environment: environment)
        #expect(name(found) == ["site/", "e", "ann"])
        #expect(found.brokerName == "mqtt://h:1")
        options = try ConnectionOptions.parse(["--dataset", "f", "--client", "bob", "--broker", "mqtts://x"])
        found = try options.configuration(environment: environment)
        #expect(found.brokerName == "mqtts://x:8883")
        #expect(name(found) == ["site/", "f", "bob"])
        #expect(found.topics.matches("a/b") == "site/geomatch/f/bob/match/a%2Fb/+")
    }

    @Test(
        "A context is named by a flag or a variable; the flag goes before other variables, an unknown one gets its neighbour")
    func contexts() throws {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent("geomatch-contexts-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: home) }
        try FileManager.default.createDirectory(atPath: home + "/geomatch", withIntermediateDirectories: true)
        let file = """
            # where I work
            [home]
            broker = ann:se=cret@127.0.0.1:1884
            dataset = flat
            [museum]
            broker = mqtts://museum.example
            client = guide
            """
        try file.write(toFile: home + "/geomatch/contexts", atomically: true, encoding: .utf8)
        func read(_ words: [String], _ environment: [String: String] = [:]) throws -> [String] {
            let found = try ConnectionOptions.parse(words).configuration(
                environment: environment.merging(["XDG_CONFIG_HOME": home]) { $1 })
            return [found.brokerName, found.dataset, found.client]
        }
        #expect(try read([]) == ["mqtt://127.0.0.1:1883", "default", "cli"])
        #expect(try read(["--context", "home"]) == ["mqtt://127.0.0.1:1884", "flat", "ann"])
        #expect(try read(["--context", "home", "--dataset", "d"], ["GEOMATCH_DATASET": "e"])[1] == "d")
        // The client of a context that nobody named made another out of the user of a broker that was named.
        try "[default]\nclient = me\ndataset = d\n".write(toFile: home + "/geomatch/contexts", atomically: true, encoding: .utf8)
        #expect(try read(["--broker", "mqtt://ann:pw@h"]) == ["mqtt://h:1883", "d", "ann"])
        #expect(try read(["--broker", "mqtt://h"]) == ["mqtt://h:1883", "d", "me"])
        #expect(try read(["--broker", "mqtt://ann:pw@h", "--client", "bob"])[2] == "bob")
        #expect(try read(["--broker", "mqtt://ann:pw@h"], ["GEOMATCH_CLIENT": "eve"])[2] == "eve")
        try file.write(toFile: home + "/geomatch/contexts", atomically: true, encoding: .utf8)
        #expect(try read(["--context", "home"], ["GEOMATCH_DATASET": "e", "GEOMATCH_CONTEXT": "museum"])[1] == "flat")
        #expect(
            try read([], ["GEOMATCH_CONTEXT": "museum", "GEOMATCH_DATASET": "e"]) == [
                "mqtts://museum.example:8883", "e", "guide",
            ])
        #expect {
            try read(["--context", "hoem"])
        } throws: {
            ($0 as? CommandFailure)?.code == 78 && ($0 as? CommandFailure)?.message.hasSuffix("did you mean home?") == true
        }
        #expect {
            try read(["--context", "127.0.0.1:1883"])
        } throws: {
            ($0 as? CommandFailure)?.message.hasSuffix("given as --broker 127.0.0.1:1883, or here as mqtt://127.0.0.1:1883")
                == true
        }
        #expect(throws: CommandFailure.configuration("f, line 2: there is no key borker; did you mean broker?")) {
            try ConnectionContext.read("[a]\nborker = h", from: "f")
        }
    }
}
