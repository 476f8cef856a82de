import Foundation
import GeomatchClient
import Testing
import Wire

@testable import geomatch

@Suite("geomatch at a broker")
struct BrokerTests {
    /// Answers every request with its topic and parameters; `error/…` with an error, `silent/…` never.
    private static let echo: FakeDaemon.Answer = { daemon, message, correlation in
        let levels = message.topic.split(separator: "/").map(String.init)
        guard levels.count == 6, levels[4] != "silent", var object = (try? JSONValue.parse(message.payload))?.asObject else {
            return
        }
        var reply: JSONObject = ["request": .string("\(levels[4])/\(levels[5])")]
        // Without correlation data the id alone must do, as with MQTT 3.1.1.
        if levels[4] != "correlated" { reply["requestId"] = object["requestId"] }
        object["requestId"] = nil
        if levels[4] == "error" {
            reply["error"] = ["code": 400, "error": "invalid", "message": "no", "field": "selector", "position": 3]
        } else {
            reply["result"] = ["topic": .string(message.topic), "parameters": .object(object)]
        }
        let topic = "geomatch/\(levels[1])/\(levels[2])/reply"
        // Somebody else's reply comes first, and must not be taken for ours.
        daemon.publish(topic, #"{"requestId":"other","request":"a/b","result":{"wrong":true}}"#)
        daemon.publish(
            topic, String(decoding: JSONValue.object(reply).serialised(), as: UTF8.self),
            correlation: levels[4] == "uncorrelated" ? nil : correlation)
    }

    private func withEcho(_ body: (TestBroker) throws -> Void) throws {
        try withDaemon(filters: ["geomatch/+/+/request/#"], answer: Self.echo) { broker, _ in try body(broker) }
    }

    @Test("A request is answered with its own reply", arguments: ["uncorrelated", "correlated", "device"])
    func request(_ resource: String) throws {
        try withEcho { broker throws in
            let said = try geomatch("--broker", broker.url, "--dataset", "d", resource, "create", "id=5", "a.b=5", "--json")
            #expect(
                said
                    == Said(
                        out: #"{"topic":"geomatch/d/cli/request/\#(resource)/create","parameters":{"id":"5","a":{"b":5}}}"#
                            + "\n",
                        error: "", code: 0))
        }
    }

    @Test("People get the result on several lines, and the client is the user in the address")
    func pretty() throws {
        try withEcho { broker throws in
            let said = try geomatch(
                "x", "y", "-", input: #"{"k":[1,{"l":null}]}"#,
                environment: ["GEOMATCH_CONTEXT": "mqtt://ann:secret@127.0.0.1:\(broker.port)"])
            #expect(
                said
                    == Said(
                        out: """
                            {
                              "topic": "geomatch/default/ann/request/x/y",
                              "parameters": {"k":[1,{"l":null}]}
                            }

                            """, error: "", code: 0))
        }
    }

    @Test("An error reply goes to standard error and ends with 1")
    func errorReply() throws {
        try withEcho { broker throws in
            #expect(
                try geomatch("--broker", broker.url, "error", "x")
                    == Said(out: "", error: "invalid (400) selector 3: no\n", code: 1))
            #expect(
                try geomatch("--broker", broker.url, "--json", "error", "x").error
                    == #"{"code":400,"error":"invalid","message":"no","field":"selector","position":3}"# + "\n")
        }
    }

    @Test("A reply that does not come ends with 69 and the id to repeat")
    func noReply() throws {
        try withEcho { broker throws in
            #expect(
                try geomatch("--broker", broker.url, "--timeout", "0.3", "silent", "x", "requestId=r")
                    == Said(
                        out: "",
                        error: """
                            geomatch: no reply within 0.3 s.
                            Start geomatchd, or check with `geomatch status`.
                            It may still be carried out: repeat it with requestId=r to have it done only once.

                            """, code: 69))
        }
    }

    @Test("A broker where nobody takes requests is reported at once")
    func nobodyThere() throws {
        try withBroker { broker throws in
            #expect(
                try geomatch("--broker", broker.url, "--timeout", "60", "device", "list")
                    == Said(
                        out: "",
                        error: """
                            geomatch: no geomatchd reads requests of default at this broker.
                            Start geomatchd, or check with `geomatch status`.

                            """, code: 69))
        }
    }

    @Test("Refused credentials and a refused write end with 69 and their reason")
    func refusals() throws {
        try withBroker(lines: ["allow_anonymous false"]) { broker throws in
            let said = try geomatch("--broker", broker.url, "device", "list")
            #expect(said.code == 69)
            #expect(said.error.contains("connection refused: not authorised"))
            #expect(said.error.contains("check the user and the password") && !said.error.contains("running there"))
        }
        let file = NSTemporaryDirectory() + "geomatch-acl-\(UInt32.random(in: 0 ... .max))"
        try "topic read #\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        try withBroker(lines: ["allow_anonymous true", "acl_file \(file)"]) { broker throws in
            let said = try geomatch("--broker", broker.url, "device", "list")
            #expect(said.code == 69)
            #expect(said.error.contains("the broker refuses the request (reason 0x87)"))
            #expect(
                try geomatch("--broker", broker.url, "pub", "a/b", "{}").error.contains(
                    "the broker refuses the message (reason 0x87)"))
        }
    }

    @Test("pub publishes what is asked for, below the prefix")
    func pub() throws {
        try withDaemon(filters: ["site/#"]) { broker, daemon throws in
            let said = try geomatch("--broker", broker.url, "--topics-prefix", "site", "pub", "a//b", "not JSON")
            #expect(said.code == 0 && said.out.isEmpty)
            #expect(said.error.hasPrefix("geomatch: hint: a live topic has seven levels, ") && said.error.contains(", not 3: "))
            #expect(
                try geomatch("--broker", broker.url, "--topics-prefix", "site", "pub", "a", "-", "--qos", "0", input: "x").code
                    == 0)
            #expect(
                daemon.received(2) == [
                    FakeDaemon.Message(topic: "site/a//b", payload: "not JSON"),
                    FakeDaemon.Message(topic: "site/a", payload: "x"),
                ])
        }
    }

    @Test("pub publishes what the daemon will refuse, and warns of it where neither an adapter nor a request can be meant")
    func pubDoubts() throws {
        func doubt(_ topic: String, _ payload: String) -> String? {
            PublishCommand.doubt(of: topic, Array(payload.utf8), dataset: "d")
        }
        #expect(doubt("d/-/-/-/-/x/position", #"{"lat":1,"lon":2}"#) == nil)
        #expect(doubt("d/-/-/-/-/x/position", "") == nil)
        #expect(doubt("d/-/-/-/-/x/position", #"{"lat":1"#)?.contains("not JSON") == true)
        #expect(doubt("d/-/-/-/-/x/position", "5")?.contains("position takes an object such as") == true)
        #expect(doubt("d/-/-/-/-/x/position", #"{"lat":430,"lon":2}"#)?.contains("latitude") == true)
        #expect(doubt("d/-/-/-/-/x/temperature", "21.5") == nil && doubt("d/-/-/-/-/x/availability", "ON") == nil)
        #expect(doubt("d/-/-/-/-/x/positon", "{}") == nil)
        func hint(_ topic: String, _ payload: String = "") -> String? { PublishCommand.hint(of: topic, Array(payload.utf8)) }
        #expect(hint("d/-/-/-/-/x/positon") == "`positon` is a domain of its own; did you mean `position`?")
        #expect(hint("d/-/-/-/-/x/position") == nil && hint("geomatch/d/me/request/device/get") == nil)
        #expect(hint("a1/x", "{}")?.hasPrefix("a live topic has seven levels, ") == true)
        #expect(
            hint("d/-/-/-/-/x/position", #"{"lat":1,"lon":2,"timestamp":1795802485}"#)?.hasPrefix(
                "`timestamp` is in milliseconds: 1795802485 is 1970-01-21") == true)
        #expect(hint("d/-/-/-/-/x/position", #"{"lat":1,"lon":2,"timestamp":1795802485000}"#) == nil)
        #expect(hint("owntracks/ann/phone", "{}")?.hasPrefix("this is a topic of owntracks, which geomatchd reads") == true)
        #expect(doubt("d/-/x/position", "{}")?.contains("seven levels") == true)
        #expect(doubt("/d/-/-/-/-/x/position", "{}")?.contains("begins with /") == true)
        #expect(doubt("live/d/-/-/-/-/x/position", "{}")?.hasSuffix("an update goes to d/-/-/-/-/x/position") == true)
        for topic in ["owntracks/ann/phone", "geomatch/d/me/request/device/get"] { #expect(doubt(topic, "{") == nil) }
        try withDaemon(filters: ["d/#"]) { broker, daemon throws in
            let said = try geomatch("--broker", broker.url, "--json", "pub", "d/-/-/-/-/x/position", "{")
            #expect(said.code == 0 && said.error.hasPrefix("geomatch: warning: "))
            #expect(said.out == #"{"topic":"d/-/-/-/-/x/position","bytes":1,"qos":1,"retain":false}"# + "\n")
            #expect(daemon.received(1).first?.payload == "{")
        }
    }

    @Test("pub warned of refusals where it had a hint only, and was silent where no daemon is there to take the update")
    func pubNobody() throws {
        try withDaemon(filters: []) { broker, daemon throws in
            func said(_ domain: String, _ options: String...) throws -> String {
                let payload = #"{"latitude":1,"longitude":2}"#
                return try CommandLineRun(["--broker", broker.url, "pub", "d/-/-/-/-/x/\(domain)", payload] + options).finish()
                    .error
            }
            let lost = "geomatch: warning: no geomatchd is online at this broker: the update is lost\n"
            // Nothing says whether it is read, as where an access list hides the status.
            #expect(try said("position").contains("there is no status of a geomatchd at this broker"))
            #expect(try said("position", "--retain").isEmpty)
            daemon.tell("geomatch/status", #"{"state":"offline","instance":"i"}"#, retain: true)
            #expect(try said("position") == lost)
            daemon.tell("geomatch/status", #"{"state":"online","instance":"i"}"#, retain: true)
            #expect(
                try said("position") == "geomatch: hint: nothing was known of the dataset d until now: it is new, or mistyped\n")
            daemon.tell("geomatch/d/status", "{}", retain: true)
            #expect(try said("position").isEmpty)
            #expect(try said("positon") == "geomatch: hint: `positon` is a domain of its own; did you mean `position`?\n")
        }
    }

    @Test("watch prints one line for each message, and ends after --count or with Ctrl-C")
    func watch() throws {
        try withDaemon(filters: []) { broker, daemon throws in
            daemon.tell("geomatch/status", #"{"state":"online","instance":"i"}"#, retain: true)
            for dataset in ["default", "d"] { daemon.tell("geomatch/\(dataset)/status", "{}", retain: true) }
            let counted = try CommandLineRun([
                "--broker", broker.url, "--json", "watch", "matches", "--device", "a/b", "--count", "2",
            ])
            let endless = try CommandLineRun(["--broker", broker.url, "watch", "live", "--direct", "d/+/+/+/+/+/position"])
            #expect(
                counted.waitForError("Ctrl-C ends\n")
                    == "geomatch: watching geomatch/default/cli/match/a%2Fb/+ at \(broker.url), Ctrl-C ends\n")
            #expect(endless.waitForError("Ctrl-C ends\n").contains("live/d/+/+/+/+/+/position"))
            daemon.tell("geomatch/default/cli/match/other/s", "{}")
            daemon.tell("geomatch/default/cli/match/a%2Fb/s", #"{"id":"1"}"#)
            daemon.tell("live/d/-/-/-/-/x/position", "")
            daemon.tell("live/d/-/-/-/-/x/count", "")
            daemon.tell("geomatch/default/cli/match/a%2Fb/s", #"{"id":"2"}"#)
            #expect(counted.finish() == Said(out: "{\"id\":\"1\"}\n{\"id\":\"2\"}\n", error: "", code: 0))
            // Ctrl-C before the message has come would rightly end it without.
            #expect(endless.waitForOutput("\n") == "live/d/-/-/-/-/x/position cleared\n")
            endless.interrupt()
            #expect(endless.finish() == Said(out: "", error: "", code: 0))
        }
    }

    @Test("watch says where nothing can come: no daemon, no dataset, no device")
    func watchNothing() throws {
        try withDaemon(
            filters: ["geomatch/+/+/request/device/get"],
            answer: { daemon, message, correlation in
                daemon.publish(
                    "geomatch/d/cli/reply", #"{"error":{"code":404,"error":"notFound","message":"there is no device `x`"}}"#,
                    correlation: correlation)
            }
        ) { broker, daemon throws in
            func note(_ arguments: String..., until text: String) throws {
                let run = try CommandLineRun(["--broker", broker.url, "--dataset", "d", "watch"] + arguments)
                #expect(run.waitForError(text).contains(text))
                run.interrupt()
                #expect(run.finish().code == 0)
            }
            try note("matches", until: "no geomatchd is online")
            daemon.tell("geomatch/status", #"{"state":"online","instance":"i"}"#, retain: true)
            try note("circumstances", until: "no status of the dataset d")
            daemon.tell("geomatch/d/status", "{}", retain: true)
            try note("matches", "--device", "x", until: "there is no device `x`")
            // Nobody answers who is not their login.
            let other = try CommandLineRun([
                "--broker", broker.url.replacing("mqtt://", with: "mqtt://ann@"), "--client", "house", "--timeout", "0.2",
                "watch",
                "geofences",
            ])
            #expect(other.waitForError("log in as house").contains("nothing can come: The login is ann and the client house"))
            other.interrupt()
            #expect(other.finish().code == 0)
        }
    }

    @Test("status tells online from offline, and both from nothing")
    func status() throws {
        try withDaemon(filters: []) { broker, daemon throws in
            #expect(
                try geomatch("--broker", broker.url, "status")
                    == Said(out: "unknown  no geomatchd was ever online at \(broker.url)\n", error: "", code: 69))
            daemon.tell("geomatch/status", #"{"state":"online","version":"1","instance":"i","startedAt":0}"#, retain: true)
            daemon.tell(
                "geomatch/default/status",
                #"{"dataset":"default","at":1769443022000,"updates":{"received":3,"late":1},"devices":2}"#, retain: true)
            #expect(
                try geomatch("--broker", broker.url, "status")
                    == Said(
                        out: """
                            online  geomatchd 1, started 1970-01-01T00:00:00.000Z, instance i
                            dataset default, 2026-01-26T15:57:02.000Z
                              holds      devices 2
                              updates    received 3, late 1

                            """, error: "", code: 0))
            daemon.tell("geomatch/status", #"{"state":"offline","error":"filter refused"}"#, retain: true)
            #expect(
                try geomatch("--broker", broker.url, "--dataset", "e", "--json", "status")
                    == Said(
                        out: #"{"status":{"state":"offline","error":"filter refused"},"dataset":null}"# + "\n", error: "",
                        code: 69))
        }
    }

    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        let file = NSTemporaryDirectory() + "geomatch-trace-\(UInt32.random(in: 0 ... .max)).csv"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        try body(file)
    }

    @Test("replay publishes in the order of time across devices", arguments: ["0", "1"])
    func replay(_ qos: String) throws {
        let text = """
            device,timestamp,lat,lon,altitude
            a,1769443022000,1,2,
            a,1769443024000,1.5,2,9
            b/c,1769443023000,3,4,
            b/c,broken,3,4,
            """
        try withDaemon(filters: ["default/#"]) { broker, daemon throws in
            try withFile(text) { file throws in
                let said = try geomatch("--broker", broker.url, "replay", file, "--qos", qos)
                #expect(said.code == 0)
                #expect(said.out == "")
                #expect(said.error.hasPrefix("\(file):5: `timestamp` must be"))
                #expect(said.error.contains("published 3 of 3 positions of 2 devices"))
                #expect(said.error.contains("1 rows left out"))
                #expect(said.error.contains("3 acknowledged") == (qos == "1"))
                #expect(
                    daemon.received(3) == [
                        FakeDaemon.Message(
                            topic: "default/-/-/-/-/a/position",
                            payload: #"{"latitude":1,"longitude":2,"timestamp":1769443022000}"#),
                        FakeDaemon.Message(
                            topic: "default/-/-/-/-/b%2Fc/position",
                            payload: #"{"latitude":3,"longitude":4,"timestamp":1769443023000}"#),
                        FakeDaemon.Message(
                            topic: "default/-/-/-/-/a/position",
                            payload: #"{"latitude":1.5,"longitude":2,"altitude":9,"timestamp":1769443024000}"#),
                    ])
            }
        }
    }

    @Test("replay with a speed takes its time, and --now ends now")
    func replayPaced() throws {
        try withDaemon(filters: ["default/#"]) { broker, daemon throws in
            try withFile("device,timestamp,lat,lon\na,1000000000,1,2\na,1000000060,1,2\n") { file throws in
                let start = WallClock.now()
                let said = try geomatch("--broker", broker.url, "replay", file, "--speed", "100", "--now", "--progress")
                let end = WallClock.now()
                #expect(said.code == 0)
                #expect(said.error.contains("100 %  2/2") || said.error.contains("50 %  1/2"))
                #expect(end - start >= 600)
                let stamps = daemon.received(2).compactMap { (try? JSONValue.parse($0.payload))?.asObject?["timestamp"]?.asInt64 }
                #expect(stamps.count == 2 && stamps[1] - stamps[0] == 60_000)
                #expect(stamps[1] >= start + 600 && stamps[1] <= end)
            }
        }
    }

    @Test("A file without a single good row ends with 1")
    func nothingToReplay() throws {
        try withFile("device,timestamp,lat,lon\na,1,2\n") { file throws in
            #expect(
                try geomatch("replay", file)
                    == Said(
                        out: "",
                        error: "\(file):2: 3 fields, the header has 4\ngeomatch: \(file) holds no point (1 rows refused)\n",
                        code: 1))
        }
    }
}
