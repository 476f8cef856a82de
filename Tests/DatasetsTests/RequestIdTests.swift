import Testing
import Wire

@testable import Datasets

@Suite("A requestId")
struct RequestIdTests {
    private let create = #"{"requestId":"1","deviceType":"MobileDevice"}"#

    private func reply(_ harness: HubHarness, _ name: String, _ payload: String, client: String = "alice") -> String? {
        harness.published.removeAll()
        harness.send("geomatch/d/\(client)/request/\(name)", payload)
        return harness.payloads("geomatch/d/\(client)/reply").first
    }

    @Test("gets the first reply again, whatever else it asks, also after a restart")
    func again() {
        let harness = HubHarness()
        let first = reply(harness, "device/create", create)
        for killed in [true, false] {
            #expect(reply(harness, "device/create", create) == first)
            #expect(reply(harness, "device/list", #"{"requestId":"1"}"#) == first)
            #expect(reply(harness, "no/such", #"{"requestId":"1"}"#) == first)
            #expect(harness.hub.datasets["d"]?.devices.count == 1)
            harness.restart(killed: killed)
        }
        #expect(reply(harness, "device/create", create, client: "bob") != first)
        #expect(harness.hub.datasets["d"]?.devices.count == 2)
    }

    @Test("gets the first reply again within one batch")
    func withinBatch() {
        let harness = HubHarness()
        harness.batch(Array(repeating: .init("geomatch/d/alice/request/device/create", create), count: 3))
        #expect(Set(harness.payloads("geomatch/d/alice/reply")).count == 1)
        #expect(harness.payloads("geomatch/d/alice/reply").count == 3)
        #expect(harness.hub.datasets["d"]?.devices.count == 1)
    }

    @Test("of an error gets the same error, also when it would succeed by now")
    func errors() {
        let harness = HubHarness()
        _ = harness.request("dataset/create", client: "admin")
        let get = #"{"requestId":"g","id":"x"}"#
        let update = #"{"requestId":"u","id":"x","name":"n"}"#
        let first = reply(harness, "device/get", get)
        let second = reply(harness, "device/update", update)
        _ = harness.request("device/create", #"{"deviceType":"MobileDevice","id":"x"}"#)
        #expect(reply(harness, "device/get", get) == first)
        #expect(reply(harness, "device/update", update) == second)
        harness.restart(killed: true)
        #expect(reply(harness, "device/update", update) == second)
        // That of a read is not kept across a restart.
        #expect(reply(harness, "device/get", get) != first)
    }

    @Test("is forgotten after 24 hours, and not before")
    func expiry() {
        let harness = HubHarness()
        let first = reply(harness, "device/create", create)
        harness.advance(milliseconds: 86_400_000 - 1, step: 3_600_000)
        #expect(reply(harness, "device/create", create) == first)
        harness.advance(milliseconds: 1)
        #expect(reply(harness, "device/create", create) != first)
        #expect(harness.hub.datasets["d"]?.devices.count == 2)
    }

    @Test("of a deletion of the dataset is known after it, and deletes no dataset made since")
    func datasetDeletion() {
        let harness = HubHarness()
        let delete = #"{"requestId":"x"}"#
        _ = harness.request("dataset/create", #"{"requestId":"c"}"#, client: "admin")
        let first = reply(harness, "dataset/delete", delete, client: "admin")
        #expect(first?.contains("deleted") == true)
        #expect(reply(harness, "dataset/delete", delete, client: "admin") == first)
        harness.restart(killed: true)
        #expect(reply(harness, "dataset/delete", delete, client: "admin") == first)
        _ = reply(harness, "device/create", create)
        #expect(reply(harness, "dataset/delete", delete, client: "admin") == first)
        #expect(harness.hub.datasetNames == ["d"])
        harness.restart(killed: true)
        #expect(reply(harness, "dataset/delete", delete, client: "admin") == first)
        // What else was remembered went with the dataset.
        #expect(harness.refusal("dataset/create", #"{"requestId":"c"}"#, client: "admin") == "conflict")
    }

    @Test("that waits for the store is answered once for each delivery, with one reply, and has no second effect")
    func whileAsking() {
        let harness = HubHarness()
        harness.makePair()
        harness.published.removeAll()
        harness.batch([
            .init("geomatch/d/alice/request/match/list", #"{"requestId":"m","deviceId":"phone"}"#),
            .init("geomatch/d/alice/request/device/create", #"{"requestId":"m","deviceType":"MobileDevice","id":"new"}"#),
        ])
        let replies = harness.payloads("geomatch/d/alice/reply")
        #expect(replies.count == 2 && Set(replies).count == 1 && replies[0].contains("match/list"))
        #expect(harness.hub.datasets["d"]?.devices["new"] == nil)
        #expect(harness.hub.waitingForAnswer.isEmpty)
    }

    @Test("of following and of its end has no second effect after a restart")
    func followedOverRestart() {
        let harness = HubHarness()
        harness.acknowledges = true
        harness.makePair()
        let follow = #"{"requestId":"f","since":0}"#
        let unfollow = #"{"requestId":"u"}"#
        let first = reply(harness, "changes/follow", follow)
        harness.advance(milliseconds: 1500)
        harness.restart(killed: true)
        #expect(reply(harness, "changes/follow", follow) == first)
        #expect(harness.payloads("geomatch/d/alice/changes").isEmpty)
        let ended = reply(harness, "changes/unfollow", unfollow)
        #expect(harness.hub.followers.isEmpty)
        harness.restart(killed: true)
        _ = harness.request("changes/follow")
        #expect(reply(harness, "changes/unfollow", unfollow) == ended)
        #expect(!harness.hub.followers.isEmpty)
    }

    @Test("is distinguished by its bytes")
    func bytes() {
        let harness = HubHarness()
        let first = reply(harness, "device/create", "{\"requestId\":\"\u{E9}\",\"deviceType\":\"MobileDevice\"}")
        #expect(reply(harness, "device/create", "{\"requestId\":\"e\u{301}\",\"deviceType\":\"MobileDevice\"}") != first)
        #expect(harness.hub.datasets["d"]?.devices.count == 2)
    }

    @Test("of a change is not forgotten for what another client reads")
    func othersReads() {
        let harness = HubHarness { $0.limits.rememberedReplyBytes = 20_000 }
        let first = reply(harness, "device/create", create)
        for number in 0..<200 { _ = reply(harness, "device/list", #"{"requestId":"\#(number)"}"#, client: "bob") }
        #expect(reply(harness, "device/create", create) == first)
        #expect(harness.hub.datasets["d"]?.devices.count == 1)
    }

    @Test("makes room among the reads first, then of the client whose changes take up most, the oldest first")
    func room() {
        var limits = HubLimits()
        limits.rememberedReplyBytes = 10_000
        var memory = ReplyMemory()
        let page = [UInt8](repeating: 1, count: 700)
        memory.remember([1], to: "once", of: "alice", at: 0, limits: limits)
        for number in 0..<3000 {
            memory.remember(page, to: "read \(number)", of: "bob", at: 1, isOfReading: true, limits: limits)
        }
        #expect(memory.reply(to: "once", of: "alice", at: 2) == [1])
        #expect(memory.reply(to: "read 2999", of: "bob", at: 2) == page && memory.reply(to: "read 0", of: "bob", at: 2) == nil)
        for number in 0..<3000 { memory.remember(page, to: "\(number)", of: "bob", at: 2, limits: limits) }
        #expect(memory.reply(to: "once", of: "alice", at: 2) == [1])
        #expect(memory.reply(to: "2999", of: "bob", at: 2) == page && memory.reply(to: "0", of: "bob", at: 2) == nil)
        #expect(memory.reply(to: "read 2999", of: "bob", at: 2) == nil && memory.count < 12)
        for number in 1000..<4000 { memory.remember([1], to: "x", of: "client\(number)", at: 3, limits: limits) }
        #expect(memory.reply(to: "x", of: "client3999", at: 3) == [1] && memory.reply(to: "x", of: "client1000", at: 3) == nil)
        #expect(memory.count > 30 && memory.footprint < 9 * memory.count + 1100)
        memory.expire(at: 3 + ReplyMemory.lifetimeMilliseconds)
        #expect(memory.isEmpty && memory.footprint == 0)
    }

    @Test("of the newest so many of each client is remembered, within so many bytes, and nothing else stays")
    func bounds() {
        var limits = HubLimits()
        limits.rememberedReplies = 10
        var memory = ReplyMemory()
        for number in 0..<5000 {
            memory.remember([1], to: String(number), of: "a", at: Int64(number), limits: limits)
            memory.remember([2], to: "same", of: "b", at: Int64(number), limits: limits)
            memory.remember([3], to: "x", of: String(number % 700), at: Int64(number), limits: limits)
        }
        #expect(memory.footprint < 9 * 712 + 1024)
        #expect((4990..<5000).allSatisfy { memory.reply(to: String($0), of: "a", at: 5000) == [1] })
        #expect(memory.reply(to: "4989", of: "a", at: 5000) == nil)
        #expect(memory.reply(to: "same", of: "b", at: 5000) == [2])
        limits.rememberedReplyBytes = 10_000
        memory.remember([4], to: "y", of: "c", at: 5000, limits: limits)
        #expect(memory.count < 40 && memory.reply(to: "y", of: "c", at: 5000) == [4])
        memory.expire(at: 5000 + ReplyMemory.lifetimeMilliseconds)
        #expect(memory.isEmpty && memory.footprint == 0)
    }
}
