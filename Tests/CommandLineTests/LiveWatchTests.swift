import Foundation
import GeomatchClient
import Synchronization
import Testing
import Wire

@testable import geomatch

@Suite("watch live")
struct LiveWatchTests {
    private static let online = #"{"state":"online","version":"1","instance":"i","startedAt":1}"#

    private static func message(_ topic: String, receivedAt: Int = 1, left: Bool = false) -> String {
        #"{"topic":"\#(topic)","itemId":"i","timestamp":1,"receivedAt":\#(receivedAt),"properties":{"n":1}"#
            + (left ? #","left":true}"# : "}")
    }

    /// Takes subscriptions as the daemon does; the first snapshot has two topics, each later one only the first of them.
    private static func subscriptions(refusing error: String? = nil, hint: String? = nil) -> FakeDaemon.Answer {
        let count = Mutex(0)
        return { daemon, message, correlation in
            let levels = message.topic.split(separator: "/").map(String.init)
            guard levels.count == 6, let request = (try? JSONValue.parse(message.payload)),
                let id = request.member("id")?.asString,
                let requestID = request.member("requestId")?.asString
            else { return }
            let own = "geomatch/\(levels[1])/\(levels[2])/"
            if levels[5] == "subscribe" { count.withLock { $0 += 1 } }
            let isFirst = count.withLock { $0 == 1 }
            let lease = request.member("lease")?.asInt64 ?? 0
            let result =
                #""result":{"id":"\#(id)","topic":"\#(own)live/\#(id)","criteria":"","leaseUntil":\#(1000 + lease * 1000),"snapshot":\#(isFirst ? 2 : 1)\#(hint.map { #","hints":["\#($0)"]"# } ?? "")}"#
            daemon.publish(
                own + "reply",
                #"{"requestId":"\#(requestID)","request":"live/\#(levels[5])",\#(error.map { #""error":\#($0)"# } ?? result)}"#,
                correlation: correlation)
            guard levels[5] == "subscribe", error == nil else { return }
            for topic in isFirst ? ["d/v/b/1/r/-/a", "d/v/b/1/r/-/b"] : ["d/v/b/1/r/-/a"] {
                daemon.publish("\(own)live/\(id)", Self.message(topic))
            }
        }
    }

    private let filters = ["geomatch/+/+/request/#"]

    @Test("It subscribes under an id of its own with all conditions, shows each message as it came, and unsubscribes at Ctrl-C")
    func lines() throws {
        try withDaemon(filters: filters, answer: Self.subscriptions()) { broker, daemon in
            let run = try CommandLineRun([
                "--broker", broker.url, "--client", "me", "--json", "watch", "live", "live/d/v/#", "--where", "n = 1", "--within",
                #"{"bbox":[1,2,3,4]}"#, "--min-interval", "50",
            ])
            let both = ["a", "b"].map { Self.message("d/v/b/1/r/-/\($0)") + "\n" }.joined()
            #expect(run.waitForOutput(both) == both)
            let first = try #require(daemon.received(1).first)
            // The dataset is that of the criteria.
            #expect(first.topic == "geomatch/d/me/request/live/subscribe")
            let request = try JSONValue.parse(first.payload)
            #expect(request.member("criteria") == "d/v/#" && request.member("where") == "n = 1")
            #expect(request.member("within") == ["bbox": [1, 2, 3, 4]] && request.member("minInterval") == 50)
            run.interrupt()
            #expect(run.finish().code == 0)
            let last = try #require(daemon.received(2).last)
            #expect(last.topic == "geomatch/d/me/request/live/unsubscribe")
            #expect(try JSONValue.parse(last.payload).member("id") == request.member("id"))
        }
    }

    @Test("A daemon started anew is asked again under the same id, and what its snapshot lacks is reported as left")
    func restarted() throws {
        try withDaemon(filters: filters, answer: Self.subscriptions()) { broker, daemon in
            daemon.tell("geomatch/status", Self.online, retain: true)
            let run = try CommandLineRun(["--broker", broker.url, "--dataset", "d", "--json", "watch", "live", "--count", "4"])
            _ = run.waitForOutput("/b\"")
            daemon.tell("geomatch/status", Self.online.replacingOccurrences(of: "online", with: "offline"))
            daemon.tell("geomatch/status", Self.online.replacingOccurrences(of: #""instance":"i""#, with: #""instance":"j""#))
            let said = run.finish()
            #expect(said.code == 0)
            #expect(said.out.hasSuffix(Self.message("d/v/b/1/r/-/a") + "\n" + Self.message("d/v/b/1/r/-/b", left: true) + "\n"))
            #expect(said.error.contains("geomatchd is offline; waiting for it"))
            let ids = Set(daemon.received(3).compactMap { try? JSONValue.parse($0.payload).member("id")?.asString })
            #expect(ids.count == 1)
        }
    }

    @Test(
        "An error reply ends it with 1 and is not tried again; a daemon without live subscriptions is reported as such",
        arguments: [
            (#"{"code":400,"error":"invalid","field":"where","position":2,"message":"no"}"#, "invalid (400) where 2: no"),
            (#"{"code":400,"error":"invalid","field":"where","position":2,"message":"no"}"#, "\n  a + 1\n    ^"),
            (#"{"code":404,"error":"notFound","field":"request","message":"no"}"#, "older than live subscriptions"),
        ])
    func refused(_ error: String, _ text: String) throws {
        try withDaemon(filters: filters, answer: Self.subscriptions(refusing: error)) { broker, daemon in
            let said = try geomatch("--broker", broker.url, "watch", "live", "--where", "a + 1")
            #expect(said.code == 1 && said.out.isEmpty && said.error.contains(text))
            #expect(daemon.received(1).count == 1)
        }
    }

    @Test("Hints of the daemon were not shown: they are on standard error, of watch live and of requests")
    func hints() throws {
        let hint = "`latitde` is no property"
        try withDaemon(filters: filters, answer: Self.subscriptions(hint: hint)) { broker, _ in
            let watched = try geomatch("--broker", broker.url, "watch", "live", "--count", "1")
            #expect(watched.code == 0 && watched.error.hasSuffix("Ctrl-C ends\ngeomatch: hint: \(hint)\n"))
            let asked = try geomatch("--broker", broker.url, "--json", "live", "subscribe", "criteria=default/#", "id=i")
            #expect(asked.code == 0 && asked.error == "geomatch: hint: \(hint)\n")
        }
    }

    @Test("Without a daemon it ends with 69 at once")
    func nobody() throws {
        try withBroker { broker in
            let said = try geomatch("--broker", broker.url, "watch", "live")
            #expect(said.code == 69 && said.error.contains("no geomatchd reads requests of default"))
        }
    }

    @Test("The lease is renewed before it ends")
    func renewed() async throws {
        let broker = try TestBroker()
        defer { broker.end() }
        let daemon = try FakeDaemon(broker, filters: filters, answer: Self.subscriptions())
        defer { daemon.end() }
        var configuration = try ConnectionOptions.parse(["--broker", broker.url, "--dataset", "d"])
            .configuration(environment: [:])
        configuration.leaseSeconds = 1
        let selection = try LiveSelection(criteria: nil, condition: nil, within: nil, minInterval: nil, dataset: "d")
        // Half of the lease passes before the renewal, of which this waits for one; the third message ends it.
        let watching = LiveWatching(selection, count: 3, output: LiveLines(asJSON: true), broker.url)
        let watch = Task { try await withClient(configuration) { try await watching.run($0) } }
        Thread {
            // A busy machine may take long to come so far: what is waited for ends the watch, and so does its absence.
            for count in 2..<12 {
                guard let renewal = daemon.received(count).first(where: { $0.topic.hasSuffix("live/renew") }),
                    let id = try? JSONValue.parse(renewal.payload).member("id")?.asString
                else { continue }
                return daemon.tell("geomatch/d/cli/live/\(id)", Self.message("d/v/b/1/r/-/a"))
            }
            watch.cancel()
        }.start()
        try await watch.value
        #expect(daemon.received(2).contains { $0.topic == "geomatch/d/cli/request/live/renew" })
    }

    @Test("snapshot --all asks for page after page and prints them as one result")
    func pages() throws {
        try withDaemon(
            filters: filters,
            answer: { daemon, message, correlation in
                guard let request = try? JSONValue.parse(message.payload) else { return }
                let after = request.member("after")?.asString
                let page =
                    after.map { $0 == "1" ? #"{"updates":[2],"next":"2"}"# : #"{"updates":[]}"# }
                    ?? #"{"updates":[0,1],"next":"1"}"#
                let id = request.member("requestId")?.asString ?? ""
                daemon.publish("geomatch/d/cli/reply", #"{"requestId":"\#(id)","result":\#(page)}"#, correlation: correlation)
            }
        ) { broker, daemon in
            let said = try geomatch("--broker", broker.url, "--json", "live", "snapshot", "criteria=d/#", "--all")
            #expect(said == Said(out: #"{"updates":[0,1,2]}"# + "\n", error: "", code: 0))
            #expect(daemon.received(3).count == 3)
            let first = try geomatch("--broker", broker.url, "--json", "live", "snapshot", "criteria=d/#")
            #expect(first.out == #"{"updates":[0,1],"next":"1"}"# + "\n")
        }
    }
}
