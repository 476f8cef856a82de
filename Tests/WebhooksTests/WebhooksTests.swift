import Datasets
import Foundation
import Synchronization
import Testing
import WebhookReceiver

@testable import Webhooks

@Suite("Posting matches to webhooks", .timeLimit(.minutes(5)))
struct WebhooksTests {
    @Test("A match is posted as it is, under its id, and signed with the secret")
    func headers() async throws {
        try await withWebhooks { poster, port, inbox async throws in
            let body = #"{"id":"a-b","distance":1.5}"#
            try poster.post("http://127.0.0.1:\(port)/hook?x=%20y&z", token: 7, id: "a-b", body: body, secret: "key")
            #expect(await poster.outcomes(1) == [7: .taken(status: 200)])
            let post = try #require(inbox.all.first)
            #expect(post.method == "POST")
            #expect(post.target == "/hook?x=%20y&z")
            #expect(String(decoding: post.body, as: UTF8.self) == body)
            #expect(post["Host"] == "127.0.0.1:\(port)")
            #expect(post["Content-Type"] == "application/json")
            #expect(post["Content-Length"] == "\(body.utf8.count)")
            #expect(post["User-Agent"] == "geomatch/1.2.3")
            #expect(post["Geomatch-Match-Id"] == "a-b")
            // printf '%s' BODY | openssl dgst -sha256 -hmac key
            #expect(
                post["Geomatch-Signature"] == "sha256=f762cf7e7832e44365a6dc173937750f9cc4081a35059a90ff2d558e10444d8d")
            #expect(inbox.all.count == 1)
        }
    }

    @Test("Without a secret nothing is signed")
    func unsigned() async throws {
        try await withWebhooks { poster, port, inbox async throws in
            #expect(try await poster.outcome("http://127.0.0.1:\(port)") == .taken(status: 200))
            #expect(inbox.all.first?["Geomatch-Signature"] == nil)
            #expect(inbox.all.first?.target == "/")
        }
    }

    @Test(
        "The signature is HMAC-SHA256 in lower-case hex",
        arguments: [
            // RFC 4231, test cases 2 and, cut to what a secret can be, 1
            ("Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            ("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        ])
    func signature(_ secret: String, _ body: String, _ expected: String) {
        #expect(Signature.of(Array(body.utf8), secret: secret) == "sha256=" + expected)
    }

    @Test(
        "Every way to write an endpoint reaches it",
        arguments: ["127.1", "2130706433", "0x7f.1", "localhost", "[::ffff:127.0.0.1]"])
    func spellings(_ host: String) async throws {
        try await withWebhooks { poster, port, inbox async throws in
            #expect(try await poster.outcome("http://\(host):\(port)/a//b?c/:@") == .taken(status: 200))
            #expect(inbox.all.first?.target == "/a//b?c/:@")
        }
    }

    @Test(
        "2xx is taken, everything else failed, and a redirect is not followed",
        arguments: [
            (200, true), (201, true), (202, true), (204, true), (299, true), (301, false), (302, false), (304, false),
            (307, false),
            (308, false), (400, false), (401, false), (404, false), (410, false), (429, false), (500, false), (503, false),
        ])
    func statuses(_ status: Int, _ isTaken: Bool) async throws {
        try await withWebhooks(reply: { post in
            post.target == "/" ? .status(status, headers: [("Location", "/other")]) : .status(200)
        }) { poster, port, inbox async throws in
            let outcome = try await poster.outcome("http://127.0.0.1:\(port)/")
            if isTaken {
                #expect(outcome == .taken(status: status))
            } else {
                guard case .failed(let reason, nil) = outcome else {
                    Issue.record("\(String(describing: outcome))")
                    return
                }
                #expect(reason.contains("answered \(status)"))
                #expect(reason.contains("redirect") == (300...399).contains(status))
            }
            #expect(inbox.all.count == 1)
        }
    }

    @Test("What an endpoint answers is not reported, only its status; when to come again is")
    func reasons() async throws {
        try await withWebhooks(reply: { _ in .status(503, headers: [("Retry-After", "120")], body: "hunter2") }) {
            poster, port, _ async throws in
            #expect(
                try await poster.outcome("http://127.0.0.1:\(port)/")
                    == .failed(reason: "the endpoint answered 503", retryAfter: 120_000))
        }
    }

    @Test("An answer without an end is as good as its head, and does not hold the thread")
    func endlessAnswers() async throws {
        for reply in [WebhookReceiver.Reply.dribble(200), .flood(200)] {
            try await withWebhooks(limits: { $0.postMilliseconds = 500 }, reply: { _ in reply }) { poster, port, _ async throws in
                #expect(try await poster.outcome("http://127.0.0.1:\(port)/") == .taken(status: 200))
            }
        }
        try await withWebhooks(limits: { $0.postMilliseconds = 500 }, reply: { _ in .dribble(500) }) {
            poster, port, _ async throws in
            #expect(
                try await poster.outcome("http://127.0.0.1:\(port)/")
                    == .failed(reason: "the endpoint answered 500", retryAfter: nil))
        }
    }

    @Test("No answer, a closed connection, a dead port and an unknown name are distinguished")
    func failures() async throws {
        try await withWebhooks(limits: { $0.postMilliseconds = 300 }, reply: { _ in .silence }) { poster, port, _ async throws in
            #expect(
                try await poster.outcome("http://127.0.0.1:\(port)/")
                    == .failed(reason: "the answer took too long", retryAfter: nil))
        }
        let port = try await withWebhooks(reply: { _ in .hangUp }) { poster, port, _ async throws in
            #expect(
                try await poster.outcome("http://127.0.0.1:\(port)/")
                    == .failed(reason: "the connection was closed before an answer", retryAfter: nil))
            return port
        }
        try await withWebhooks { poster, _, _ async throws in
            #expect(
                try await poster.outcome("http://127.0.0.1:\(port)/")
                    == .failed(reason: "the connection was refused", retryAfter: nil))
            #expect(
                try await poster.outcome("http://name.invalid/")
                    == .failed(reason: "the name cannot be resolved", retryAfter: nil))
        }
    }

    @Test("An endpoint that cannot be reached costs the connect timeout, no more")
    func connectTimeout() async throws {
        // A listener whose queue is full answers no further connection.
        let full = try FullListener()
        defer { full.close() }
        try await withWebhooks(limits: { $0.connectMilliseconds = 200 }) { poster, _, _ async throws in
            #expect(
                try await poster.outcome("http://127.0.0.1:\(full.port)/")
                    == .failed(reason: "connecting took too long", retryAfter: nil))
        }
    }

    // MARK: The policy

    @Test("Private addresses are refused before anything is asked of them, also behind a name")
    func privateRefused() async throws {
        try await withWebhooks(allowsPrivate: false) { poster, port, inbox async throws in
            for host in ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "0.0.0.0", localName] {
                let outcome = try await poster.outcome("http://\(host):\(port)/")
                guard case .refused(let reason) = outcome else {
                    Issue.record("\(host): \(String(describing: outcome))")
                    continue
                }
                #expect(reason.contains("webhooks-allow-private"))
            }
            // The same name again: the connection that was refused is not kept for the next.
            for _ in 0..<20 {
                guard case .refused = try await poster.outcome("http://\(localName):\(port)/") else {
                    Issue.record("not refused")
                    return
                }
            }
            #expect(inbox.all.isEmpty)
        }
    }

    @Test("Whether a private port is open cannot be found out through a name")
    func deadPrivatePort() async throws {
        let port = try await withWebhooks { _, port, _ async throws in port }
        try await withWebhooks(allowsPrivate: false) { poster, _, _ async throws in
            guard case .refused = try await poster.outcome("http://\(localName):\(port)/") else {
                Issue.record("not refused")
                return
            }
        }
    }

    @Test(
        "A name that leads to a private address is refused before anything is connected, over https too, and its address is not reported",
        arguments: ["http", "https"])
    func resolvedFirst(_ scheme: String) async throws {
        for addresses: [IPAddress] in [[.v4(0x7F00_0001)], [.v4(0x5DB8_D822), .v4(0x7F00_0001)], [.v6(high: 0, low: 1)]] {
            let listener = try CountingListener()
            defer { listener.close() }
            try await withWebhooks(allowsPrivate: false, lookup: { _ in addresses }) { poster, _, _ async throws in
                for port in [listener.port, 1] {
                    let outcome = try await poster.outcome("\(scheme)://internal.example:\(port)/")
                    #expect(
                        outcome
                            == .refused(
                                reason:
                                    "internal.example leads to where webhooks may not be posted (webhooks-allow-private is false)"
                            ))
                }
                #expect(listener.accepted == 0)
            }
        }
    }

    @Test("A name is connected to at the address that was checked, asked for once, and sent as Host")
    func checkedAddress() async throws {
        let lookups = Mutex(0)
        try await withWebhooks(lookup: { name in
            lookups.withLock { $0 += 1 }
            return name == "hook.example" ? [.v4(0x7F00_0001)] : []
        }) { poster, port, inbox async throws in
            for _ in 0..<5 { #expect(try await poster.outcome("http://hook.example:\(port)/x") == .taken(status: 200)) }
            #expect(inbox.all.allSatisfy { $0["Host"] == "hook.example:\(port)" } && inbox.all.count == 5)
            #expect(lookups.withLock { $0 } == 1)
            #expect(
                try await poster.outcome("http://other.example:\(port)/")
                    == .failed(reason: "the name cannot be resolved", retryAfter: nil))
        }
    }

    @Test("Where the first address of a name does not answer, the next try goes to the next")
    func nextAddress() async throws {
        try await withWebhooks(lookup: { _ in [.v4(0x7F00_0002), .v4(0x7F00_0001)] }) { poster, port, _ async throws in
            guard case .failed = try await poster.outcome("http://hook.example:\(port)/") else {
                Issue.record("nobody listens on 127.0.0.2")
                return
            }
            #expect(try await poster.outcome("http://hook.example:\(port)/") == .taken(status: 200))
        }
    }

    @Test("However many names there are, the connections of a few are kept")
    func manyNames() async throws {
        try await withWebhooks(lookup: { _ in [.v4(0x7F00_0001)] }, limits: { $0.namesMaximum = 5 }) {
            poster, port, inbox async throws in
            for token in 0..<100 { try poster.post("http://h\(token % 50).example:\(port)/", token: UInt64(token)) }
            let outcomes = await poster.outcomes(100)
            #expect(outcomes.values.allSatisfy { $0 == .taken(status: 200) })
            #expect(inbox.all.count == 100 && poster.webhooks.clientCount <= 6)
        }
    }

    /// Resolves to an address of this machine, and is none of the names of the policy.
    private var localName: String { ProcessInfo.processInfo.hostName }

    // MARK: Several at once

    @Test("An endpoint that never answers delays no other")
    func fairness() async throws {
        try await withWebhooks(
            limits: {
                $0.runningMaximum = 8
                $0.runningMaximumPerOrigin = 4
                $0.postMilliseconds = 60_000
            }, reply: { _ in .silence }
        ) { poster, dead, _ async throws in
            try await withWebhooks { _, port, inbox async throws in
                for token in 0..<100 { try poster.post("http://127.0.0.1:\(dead)/", token: UInt64(token)) }
                for token in 1000..<1200 { try poster.post("http://127.0.0.1:\(port)/", token: UInt64(token), id: "\(token)") }
                let outcomes = await poster.outcomes(200)
                #expect(outcomes.count == 200 && outcomes.keys.allSatisfy { $0 >= 1000 })
                #expect(Set(inbox.all.compactMap { $0["Geomatch-Match-Id"] }).count == 200)
            }
        }
    }

    @Test("Thousands of posts are each made once, over few connections")
    func many() async throws {
        try await withWebhooks { poster, port, inbox async throws in
            for token in 0..<3000 { try poster.post("http://127.0.0.1:\(port)/", token: UInt64(token), id: "\(token)") }
            let outcomes = await poster.outcomes(3000)
            #expect(outcomes.count == 3000 && outcomes.values.allSatisfy { $0 == .taken(status: 200) })
            #expect(inbox.all.count == 3000)
            #expect(Set(inbox.all.compactMap { $0["Geomatch-Match-Id"] }).count == 3000)
        }
    }

    @Test("A post beyond the maximum that may wait fails at once")
    func tooManyWait() async throws {
        try await withWebhooks(
            limits: {
                $0.runningMaximum = 1
                $0.waitingMaximum = 10
            }, reply: { _ in .silence }
        ) { poster, port, _ async throws in
            let posts = try (0..<20).map {
                WebhookPost(token: $0, url: try WebhookURL("http://127.0.0.1:\(port)/"), matchID: "m", body: [], secret: nil)
            }
            poster.webhooks.post(posts)
            let outcomes = await poster.outcomes(10)
            #expect(outcomes.keys.sorted() == Array(10..<20))
            #expect(outcomes.values.allSatisfy { $0 == .failed(reason: "too many posts wait for their turn", retryAfter: nil) })
        }
    }

    @Test("However many endpoints there are, no more than a few of them are remembered")
    func manyEndpoints() async throws {
        try await withWebhooks(host: "0.0.0.0", limits: { $0.originsMaximum = 5 }) { poster, port, inbox async throws in
            for token in 0..<200 { try poster.post("http://127.0.1.\(token % 100):\(port)/", token: UInt64(token)) }
            let outcomes = await poster.outcomes(200)
            #expect(outcomes.values.allSatisfy { $0 == .taken(status: 200) })
            #expect(inbox.all.count == 200)
            #expect(poster.webhooks.clientCount == 1)
        }
    }

    // MARK: The end

    @Test("What runs is waited for at the end, what waits is left aside")
    func drain() async throws {
        try await withWebhooks(limits: { $0.runningMaximum = 1 }, reply: { _ in .status(200) }) { poster, port, _ async throws in
            for token in 0..<100 { try poster.post("http://127.0.0.1:\(port)/", token: UInt64(token)) }
            _ = await poster.outcomes(1)
            await poster.webhooks.close(drainSeconds: 10)
            let count = poster.count
            try poster.post("http://127.0.0.1:\(port)/", token: 1000)
            #expect(count >= 1 && poster.count == count)
        }
    }

    @Test("An endpoint that does not answer does not hold up the end, and has no outcome")
    func endOfSilence() async throws {
        // Its own time is not up, however slow the machine is.
        try await withWebhooks(limits: { $0.postMilliseconds = 600_000 }, reply: { _ in .silence }) {
            poster, port, inbox async throws in
            try poster.post("http://127.0.0.1:\(port)/")
            while inbox.all.isEmpty { await Task.yield() }
            await poster.webhooks.close(drainSeconds: 0.1)
            #expect(poster.count == 0)
        }
    }
}
