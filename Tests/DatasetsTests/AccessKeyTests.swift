import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Keys over restarts and refusals")
struct AccessKeyTests {
    private func harness() -> HubHarness {
        HubHarness { configuration in
            configuration.signKey = { SignedKey(text: "key \($0.id)", digest: Array($0.id.utf8)) }
        }
    }

    @Test("A key outlives a restart with when it was last used, and its deletion does, too")
    func restart() throws {
        let harness = harness()
        let kept = try #require(harness.result("key/create", #"{"client":"ann"}"#, client: "admin")?["id"]?.text)
        let gone = try #require(
            harness.result("key/create", #"{"client":"ann","dataset":"*"}"#, client: "admin")?["id"]?.text)
        #expect(harness.hub.accessKeys.use(Array(kept.utf8), at: harness.now)?.client == "ann")
        let usedAt = harness.now
        harness.advance(milliseconds: 61_000)
        #expect(harness.result("key/delete", "{\"id\":\"\(gone)\"}", client: "admin")?["state"]?.text == "deleted")
        harness.restart()
        #expect(harness.hub.accessKeys[kept]?.lastUsedAt == usedAt)
        #expect(harness.hub.accessKeys.isGood(Array(kept.utf8), at: harness.now))
        #expect(harness.hub.accessKeys[gone] == nil)
    }

    @Test("Where the store refuses, a key that was made never was, and one that was deleted is there again")
    func refusal() throws {
        let harness = harness()
        let id = try #require(harness.result("key/create", #"{"client":"ann","dataset":"*"}"#, client: "admin")?["id"]?.text)
        harness.isDiskFull = true
        #expect(harness.refusal("key/delete", "{\"id\":\"\(id)\"}", client: "admin") == "internal")
        #expect(harness.hub.accessKeys.isGood(Array(id.utf8), at: harness.now))
        #expect(harness.refusal("key/create", #"{"client":"bob"}"#, client: "admin") == "internal")
        #expect(harness.hub.accessKeys.count == 1)
    }

    @Test("Where keys are as many as may be, those whose time is over make room")
    func expiredMakeRoom() {
        let harness = HubHarness { configuration in
            configuration.signKey = { SignedKey(text: "key \($0.id)", digest: Array($0.id.utf8)) }
            configuration.limits.accessKeys = 2
        }
        _ = harness.result("key/create", #"{"client":"ann","expiresIn":60}"#, client: "admin")
        _ = harness.result("key/create", #"{"client":"ann"}"#, client: "admin")
        #expect(harness.refusal("key/create", #"{"client":"bob"}"#, client: "admin") == "limit")
        harness.advance(milliseconds: 61_000)
        #expect(harness.result("key/create", #"{"client":"bob"}"#, client: "admin") != nil)
        #expect(harness.refusal("key/create", #"{"client":"bob"}"#, client: "admin") == "limit")
    }

    @Test("A key is repeated to who asks again, and stored nowhere: a repeat after a restart is without it, and makes no other")
    func notStored() throws {
        let harness = harness()
        let request = #"{"requestId":"r","client":"ann"}"#
        let first = try #require(harness.result("key/create", request, client: "admin")?.asObject)
        #expect(first["key"] != nil && harness.result("key/create", request, client: "admin")?["key"] == first["key"])
        var rest = first
        rest["key"] = nil
        for killed in [true, false] {
            harness.restart(killed: killed)
            let again = harness.request("key/create", request, client: "admin")
            #expect(again?["result"] == .object(rest) && again?["requestId"]?.text == "r")
            #expect(harness.hub.accessKeys.count == 1)
        }
        for case .put(let reply as ReplyRecord) in harness.changes {
            #expect(!String(decoding: reply.body, as: UTF8.self).contains(first["key"]?.text ?? ""))
        }
        // A refusal has none.
        let wrong = #"{"requestId":"w","client":"status"}"#
        let refused = harness.request("key/create", wrong, client: "admin")
        harness.restart()
        #expect(refused?["error"] != nil && harness.request("key/create", wrong, client: "admin") == refused)
    }

    @Test("Keys are not in the change feed")
    func feed() {
        let harness = harness()
        _ = harness.result("key/create", #"{"client":"ann"}"#, client: "admin")
        #expect(harness.result("changes/get", #"{"since":0}"#, client: "admin")?["rows"]?.asArray?.isEmpty == true)
    }

    @Test("Without a signer no keys are made")
    func noSigner() {
        #expect(HubHarness().refusal("key/create", #"{"client":"ann"}"#, client: "admin") == "unsupported")
    }
}
