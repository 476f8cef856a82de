import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Matches to pushers")
struct WebhookTests {
    private let hour: Int64 = 3_600_000

    private func matching(_ pushers: String, count: Int = 1, extra: String = "") -> HubHarness {
        let harness = HubHarness()
        harness.acknowledges = true
        harness.makePair("", #","matchTTL":0,"pushers":[\#(pushers)]\#(extra)"#)
        // Longer than the hour.
        _ = harness.request("publication/update", #"{"id":"p","duration":90000}"#)
        _ = harness.request("subscription/update", #"{"id":"s","duration":90000}"#)
        harness.published.removeAll()
        for _ in 0..<count { harness.move(metres: 1) }
        return harness
    }

    private func delivery(_ harness: HubHarness, _ id: String = "s") -> Delivery {
        let delivery = harness.hub.datasets["d"]?.geomatching.subscriptions[id]?.record.delivery ?? Delivery()
        #expect(delivery.pending == Int64(harness.counters.matches.pending))
        return delivery
    }

    private static let hook = #""http://example.com/a?key=k""#

    @Test("go to the match topic and to each of them, and count once, when all have taken them")
    func all() {
        let harness = matching(#"\#(Self.hook),"mqtt:inbox/a","https://other.example","ws""#, extra: #","secret":"x""#)
        #expect(harness.matches.count == 1)
        let copies = harness.payloads("geomatch/d/alice/inbox/a")
        #expect(copies == harness.matches.map(\.payload))
        #expect(harness.posts.map(\.url.text) == ["http://example.com/a?key=k", "https://other.example"])
        #expect(harness.posts.allSatisfy { String(decoding: $0.body, as: UTF8.self) == copies[0] && $0.secret == "x" })
        #expect(Set(harness.posts.map(\.matchID)) == [harness.matches[0].json?["id"]?.text])
        #expect(delivery(harness).pending == 1)
        harness.answer(harness.posts[0])
        #expect(delivery(harness).pending == 1)
        harness.answer(harness.posts[0], .taken(status: 204))
        #expect(delivery(harness).pending == 0 && delivery(harness).delivered == 1 && delivery(harness).matched == 1)
        #expect(harness.store.pendingMatches.isEmpty && harness.hub.outbox.pending.isEmpty)
        #expect(harness.store.delivery("d", "s")?.delivered == 1)
    }

    @Test("are tried again after 1 s, 2 s, 4 s … 5 min, up to half of it less, until an hour is over")
    func backoff() {
        let harness = matching(Self.hook)
        let start = harness.now
        var pauses: [Int64] = []
        var last = start
        while !harness.hub.outbox.pending.isEmpty {
            if let post = harness.posts.first {
                pauses.append(harness.now - last)
                last = harness.now
                harness.answer(post, .failed(reason: "status 503", retryAfter: nil))
            }
            harness.advance(milliseconds: 500, step: 500)
        }
        for (index, pause) in pauses.dropFirst().enumerated() {
            let whole = min(1000 << Int64(index), 300_000)
            #expect(pause >= whole / 2 && pause <= whole + 500)
        }
        #expect(harness.now - start >= hour && harness.now - start <= hour + 1500)
        #expect(delivery(harness).expired == 1 && delivery(harness).retried == Int64(pauses.count - 1))
        #expect(delivery(harness).lastError?.contains("http://example.com:80") == true)
        #expect(harness.diagnostics("delivery", client: "alice").last?["error"] == "expired")
        // What the owner alone knows stays out of what everybody reads.
        #expect(!harness.published.contains { $0.topic.contains("/diagnostics/") && $0.payload.contains("key=k") })
    }

    @Test("that one endpoint refuses while it takes others are tried every 2 s, ten times, and then after 4 s, 8 s …")
    func backoffBesideSuccess() {
        let harness = matching(Self.hook, count: 2)
        harness.answer(harness.posts[0])
        var pauses: [Int64] = []
        var last = harness.now
        while pauses.count < 13 {
            if let post = harness.posts.first {
                pauses.append(harness.now - last)
                last = harness.now
                harness.answer(post, .failed(reason: "status 503", retryAfter: nil))
                // The endpoint takes another one.
                harness.move(metres: 1)
                harness.answer(harness.posts[0])
            }
            harness.advance(milliseconds: 100)
        }
        let expected: [Int64] = [1000] + [Int64](repeating: 2000, count: 9) + [4000, 8000]
        for (pause, whole) in zip(pauses.dropFirst(), expected) { #expect(pause >= whole / 2 && pause <= whole + 100) }
    }

    @Test("are left alone as long as the endpoint asks for")
    func retryAfter() {
        let harness = matching(Self.hook, count: 2)
        harness.answer(harness.posts[0], .failed(reason: "status 429", retryAfter: 60_000))
        harness.answer(harness.posts[0], .failed(reason: "status 429", retryAfter: nil))
        harness.advance(milliseconds: 59_900)
        #expect(harness.posts.isEmpty)
        harness.advance(milliseconds: 100)
        #expect(harness.posts.count == 2)
        harness.answer(harness.posts[0], .failed(reason: "status 429", retryAfter: .max))
        harness.answer(harness.posts[0])
        harness.advance(milliseconds: hour, step: 1000)
        #expect(delivery(harness).delivered == 1 && delivery(harness).expired == 1)
    }

    @Test("that are refused for good are dropped: that outweighs an hour that is over, and both outweigh what was taken")
    func worst() {
        let harness = matching(#"\#(Self.hook),"http://other.example""#)
        harness.answer(harness.posts[0], .refused(reason: "10.0.0.1 is a private address"))
        #expect(delivery(harness).pending == 1 && delivery(harness).lastError?.contains("private") == true)
        #expect(harness.diagnostics("delivery", client: "alice").last?["error"] == "dropped")
        #expect(harness.diagnostics("delivery", client: "alice").last?["topic"] == "geomatch/d/alice/match/phone/s")
        harness.answer(harness.posts[0], .failed(reason: "no", retryAfter: nil))
        harness.advance(milliseconds: hour, step: 1000)
        harness.posts.forEach { harness.answer($0, .failed(reason: "no", retryAfter: nil)) }
        #expect(delivery(harness).dropped == 1 && delivery(harness).expired == 0 && delivery(harness).pending == 0)
        harness.advance(milliseconds: 1000)
        #expect(harness.notices.contains("matches dropped count=1 dataset=d"))
    }

    @Test("come again after a restart to those who have not taken them, under the same id", arguments: [false, true])
    func restart(killed: Bool) {
        let harness = matching(#"\#(Self.hook),"http://other.example","mqtt:inbox""#, count: 2, extra: #","secret":"x""#)
        let posts = harness.posts
        harness.answer(posts[0])
        harness.answer(posts[1], .refused(reason: "no"))
        harness.answer(posts[2], .failed(reason: "no", retryAfter: nil))
        harness.advance(milliseconds: 1)
        harness.restart(killed: killed)
        #expect(harness.posts.map(\.matchID) == posts[2...].map(\.matchID))
        #expect(harness.posts.map(\.url) == posts[2...].map(\.url) && harness.posts.allSatisfy { $0.secret == "x" })
        #expect(harness.matches.isEmpty && harness.payloads("geomatch/d/alice/inbox").isEmpty)
        for post in harness.posts { harness.answer(post) }
        #expect(delivery(harness).delivered == 1 && delivery(harness).dropped == 1 && delivery(harness).pending == 0)
        harness.restart(killed: killed)
        #expect(harness.posts.isEmpty && harness.store.pendingMatches.isEmpty)
    }

    @Test("have an hour that a restart does not make longer")
    func hourOverRestart() {
        let harness = matching(Self.hook)
        harness.advance(milliseconds: hour / 2, step: 10_000)
        harness.restart(killed: true)
        harness.answer(harness.posts[0], .failed(reason: "no", retryAfter: nil))
        harness.advance(milliseconds: hour / 2 - 1000, step: 10_000)
        #expect(delivery(harness).pending == 1)
        for post in harness.posts { harness.answer(post, .failed(reason: "no", retryAfter: nil)) }
        harness.advance(milliseconds: 2000)
        #expect(delivery(harness).expired == 1)
    }

    @Test("are owed although their subscription and its device are gone, as it was when they were made")
    func gone() {
        let harness = matching(#"\#(Self.hook),"mqtt:inbox""#, count: 1, extra: #","secret":"x""#)
        _ = harness.request("subscription/update", #"{"id":"s","pushers":["http://new.example"],"secret":null}"#)
        _ = harness.request("subscription/delete", #"{"id":"s"}"#)
        _ = harness.request("device/delete", #"{"id":"phone"}"#)
        harness.restart(killed: true)
        #expect(harness.posts.first?.url.text == "http://example.com/a?key=k" && harness.posts.first?.secret == "x")
        harness.posts.forEach { harness.answer($0) }
        #expect(harness.counters.matches.pending == 0 && harness.store.pendingMatches.isEmpty)
    }

    @Test("wait 8 at a time; an endpoint that fails 8 times in a row is tried with one at a time, and opens when it answers")
    func window() {
        let harness = matching(Self.hook, count: 40)
        #expect(harness.posts.count == 8)
        harness.answer(harness.posts[0])
        #expect(harness.posts.count == 8)
        // Until the eighth fails, others take the place of those that failed.
        var failed = 0
        while let post = harness.posts.first {
            harness.answer(post, .failed(reason: "no", retryAfter: nil))
            failed += 1
        }
        #expect(failed == 15)
        harness.advance(milliseconds: 1000)
        #expect(harness.posts.count == 1)
        harness.answer(harness.posts[0], .failed(reason: "no", retryAfter: nil))
        harness.advance(milliseconds: 900)
        #expect(harness.posts.isEmpty)
        harness.advance(milliseconds: 1100)
        #expect(harness.posts.count == 1)
        harness.answer(harness.posts[0])
        #expect(harness.posts.count == 8)
        while let post = harness.posts.first { harness.answer(post) }
        harness.advance(milliseconds: 10_000)
        while let post = harness.posts.first { harness.answer(post) }
        #expect(delivery(harness).delivered == 40)
        #expect(harness.hub.outbox.posts.queues.isEmpty && harness.hub.outbox.posts.inflight == 0)
    }

    @Test("to a dead endpoint, or a hundred of a dead host, delay nobody else")
    func deadEndpoints() {
        let harness = HubHarness()
        harness.acknowledges = true
        harness.makePair("", #","matchTTL":0,"pushers":["http://alive.example"]"#)
        for index in 0..<20 {
            let urls = (0..<16).map { "\"http://dead.example/\(index)/\($0)\"" }.joined(separator: ",")
            _ = harness.request(
                "subscription/create",
                #"{"deviceId":"phone","topic":"coffee","range":50,"duration":3600,"matchTTL":0,"pushers":[\#(urls)]}"#)
        }
        var taken = 0
        for _ in 0..<50 {
            harness.move(metres: 1)
            // The dead ones never answer.
            while let post = harness.posts.first(where: { $0.url.origin.contains("alive") }) {
                harness.answer(post)
                taken += 1
            }
        }
        #expect(taken == 50)
        #expect(harness.posts.count == PostQueues.originWindow)
    }

    @Test("A client with hundreds of slow hosts took all slots: it has half of them, and turns go by client")
    func slowHosts() {
        let harness = HubHarness()
        harness.acknowledges = true
        harness.makePair("", #","matchTTL":0,"pushers":["http://alive.example"]"#)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"spy"}"#, client: "eve")
        for index in 0..<20 {
            let urls = (0..<16).map { "\"http://slow\(index)-\($0).example\"" }.joined(separator: ",")
            _ = harness.request(
                "subscription/create",
                #"{"deviceId":"spy","topic":"coffee","range":50,"duration":3600,"matchTTL":0,"pushers":[\#(urls)]}"#,
                client: "eve")
        }
        for _ in 0..<20 { harness.move("spy", metres: 1) }
        #expect(harness.posts.count == PostQueues.clientWindow)
        for _ in 0..<20 {
            harness.move(metres: 1)
            let post = harness.posts.first { $0.url.origin.contains("alive") }
            #expect(post != nil)
            if let post { harness.answer(post) }
        }
    }

    @Test("of a dataset that is deleted are forgotten")
    func datasetDeleted() {
        let harness = matching(Self.hook, count: 20)
        _ = harness.request("dataset/delete", client: "admin")
        harness.posts.forEach { harness.answer($0, .failed(reason: "no", retryAfter: nil)) }
        harness.advance(milliseconds: 5000)
        #expect(harness.hub.outbox.pending.isEmpty && harness.hub.outbox.posts.queues.isEmpty)
        #expect(harness.posts.isEmpty)
    }

    @Test("No outcome of what was never posted, or twice, counts")
    func strangers() {
        let harness = matching(Self.hook)
        let post = harness.posts[0]
        for token in [0, 1, post.token ^ 32, .max] {
            harness.answer(WebhookPost(token: token, url: post.url, matchID: "-", body: [], secret: nil))
            harness.acknowledge(token)
            harness.core.returned(token)
        }
        #expect(delivery(harness).pending == 1)
        harness.answer(post)
        harness.answer(post, .refused(reason: "no"))
        #expect(delivery(harness).delivered == 1 && delivery(harness).dropped == 0)
    }
}
