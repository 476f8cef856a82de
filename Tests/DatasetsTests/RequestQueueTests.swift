import Testing

@testable import DaemonCore
@testable import Datasets

@Suite("Requests of clients are served in turn")
final class RequestQueueTests {
    private var queues = RequestQueues()

    private func request(_ client: String, load: UInt8 = 1, bytes: Int = 10) -> RequestQueues.Waiting {
        var answer = ReturnAddress(door: 0)
        answer.queue = queues.number(of: client, in: "d", at: 0)
        answer.load = load
        return RequestQueues.Waiting(dataset: "d", name: "x/y", body: Array(repeating: 0, count: bytes), answer: answer)
    }

    /// Whether the request is handled at once; else it waits, or is refused.
    private func send(_ request: RequestQueues.Waiting, at now: Int64 = 0) -> String {
        let number = request.answer.queue
        if queues.goesAtOnce(number, load: Int(request.answer.load), doorBytes: 0, at: now) {
            queues.wasGiven(request.answer, at: now)
            return "handled"
        }
        return queues.append(request, to: number) ? "waits" : "refused"
    }

    private func serve(at now: Int64 = 0, doorBytes: Int = 0) -> String? {
        guard let (number, request) = queues.next(at: now, doorBytes: { _ in doorBytes }) else { return nil }
        queues.wasGiven(request.answer, at: now)
        return queues.client(of: number)
    }

    @Test("A client's fifth question to the store waits until one of its four is answered; another's does not")
    func questions() {
        let question = request("eve", load: 2)
        #expect((0..<6).map { _ in send(question) } == ["handled", "handled", "handled", "handled", "waits", "waits"])
        // What waits keeps what comes behind it in order.
        #expect(send(request("eve")) == "waits")
        #expect(send(request("ann", load: 2)) == "handled")
        #expect(serve() == nil)
        queues.wasAnswered(question.answer, bytes: 100, at: 1)
        #expect(serve(at: 1) == "eve" && serve(at: 1) == nil)
    }

    @Test("A second push waits for the first; what is no question goes on beside it")
    func pushes() {
        #expect(send(request("eve", load: 5)) == "handled" && send(request("eve")) == "handled")
        #expect(send(request("eve", load: 5)) == "waits")
    }

    @Test("What a client has waiting stays behind its push: given on, it would keep the whole dataset waiting")
    func behindPush() {
        queues = RequestQueues(RequestQueues.Bounds(burstMilliseconds: 50))
        let push = request("eve", load: 5)
        queues.used(60, by: push.answer.queue)
        #expect(send(push) == "waits" && send(request("eve")) == "waits")
        #expect(serve() == "eve" && serve() == nil)
        queues.wasAnswered(push.answer, bytes: 10, at: 1)
        #expect(serve(at: 1) == "eve")
        // One that is never answered keeps its client waiting no longer than any other.
        #expect(send(push) == "waits" && send(request("eve")) == "waits")
        #expect(serve(at: 2) == "eve" && serve(at: 2) == nil && serve(at: 10_003) == "eve")
    }

    @Test("A client that uses more of the loop's time than a share is queued, and served in turn with others")
    func time() {
        queues = RequestQueues(RequestQueues.Bounds(burstMilliseconds: 50))
        let eve = request("eve")
        #expect(send(eve) == "handled")
        queues.used(60, by: eve.answer.queue)
        #expect(send(eve) == "waits" && send(eve) == "waits")
        let ann = request("ann")
        queues.used(60, by: ann.answer.queue)
        #expect(send(ann) == "waits")
        #expect([serve(), serve(), serve(), serve()] == ["eve", "ann", "eve", nil])
        // A quarter of the time comes back.
        #expect(send(eve, at: 20) == "waits" && serve(at: 20) == "eve")
        #expect(send(eve, at: 80) == "handled")
    }

    @Test("Who takes no replies is answered no more until they have arrived")
    func replies() {
        let eve = request("eve")
        #expect(send(eve) == "handled")
        queues.wasAnswered(eve.answer, bytes: 2 << 20, at: 0)
        #expect(send(eve) == "waits" && serve() == nil)
        queues.replyLeft(eve.answer, bytes: 2 << 20)
        // They left the core and wait at the door.
        #expect(serve(doorBytes: 2 << 20) == nil && serve(doorBytes: 0) == "eve")
    }

    @Test("What waits is bounded in bytes, for each client and for all")
    func bytes() {
        queues = RequestQueues(RequestQueues.Bounds(loadInHand: 0, waitingBytes: 1000, allWaitingBytes: 1500))
        var first = request("eve", bytes: 500)
        queues.wasGiven(first.answer, at: 0)
        #expect(send(first) == "waits" && send(first) == "refused")
        first = request("ann", bytes: 500)
        queues.wasGiven(first.answer, at: 0)
        #expect(send(first) == "waits" && send(request("ann", bytes: 0)) == "refused")
    }

    @Test("Less waits of a client whose replies accumulate: others' requests come behind all that it sends")
    func floods() {
        queues = RequestQueues(RequestQueues.Bounds(loadInHand: 0, replyBytes: 1000, floodBytes: 1000))
        let request = request("eve", bytes: 500)
        queues.wasGiven(request.answer, at: 0)
        #expect(!queues.isFlood(request, of: request.answer.queue, doorBytes: 1000))
        #expect(send(request) == "waits")
        #expect(queues.isFlood(request, of: request.answer.queue, doorBytes: 1000))
        #expect(!queues.isFlood(request, of: request.answer.queue, doorBytes: 999))
    }

    @Test("A request that is never answered keeps its client waiting for ten seconds only")
    func patience() {
        let question = request("eve", load: 2)
        for _ in 0..<6 { _ = send(question) }
        #expect(serve(at: 9_999) == nil)
        #expect(serve(at: 10_000) == "eve" && serve(at: 10_000) == nil)
    }

    @Test("Clients of one name in two datasets do not wait for each other")
    func datasets() {
        let (mine, again) = (queues.number(of: "eve", in: "d", at: 0), queues.number(of: "eve", in: "d", at: 1))
        let other = queues.number(of: "eve", in: "e", at: 0)
        #expect(mine == again && mine != other)
        queues.used(1000, by: mine)
        let goes = [mine, other].map { queues.goesAtOnce($0, load: 1, doorBytes: 0, at: 0) }
        #expect(goes == [false, true])
    }

    @Test("Clients that ask no more are forgotten")
    func sweep() {
        for index in 0..<5000 { _ = queues.number(of: "client\(index)", in: "d", at: 0) }
        #expect(queues.clientCount < 2048)
    }

    @Test("Replies over the core: pages of the feed are asked for four at a time, and another client is served between")
    func turns() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.isDiskSlow = true
        for _ in 0..<50 { harness.send("geomatch/d/eve/request/changes/get", #"{"since":0}"#) }
        harness.send("geomatch/d/ann/request/match/get", #"{"id":"m"}"#)
        harness.writeNext()
        #expect(harness.payloads("geomatch/d/eve/reply").count == 4)
        #expect(harness.payloads("geomatch/d/ann/reply").count == 1)
        harness.isDiskSlow = false
        harness.advance(milliseconds: 2000)
        #expect(harness.payloads("geomatch/d/eve/reply").count == 50)
        #expect(harness.core.isSettled)
    }

    @Test("Refusals to a client that takes no replies pushed out the replies to others; such requests are dropped and reported")
    func flood() {
        let harness = HubHarness()
        _ = harness.result("dataset/create", client: "admin")
        harness.core.queues = RequestQueues(RequestQueues.Bounds(replyBytes: 1000, burstMilliseconds: 0, waitingBytes: 1000))
        harness.isDiskSlow = true
        for _ in 0..<50 { harness.send("geomatch/d/eve/request/changes/get", #"{"since":0}"#) }
        let refused = harness.payloads("geomatch/d/eve/reply").count
        #expect(harness.payloads("geomatch/d/eve/reply").allSatisfy { $0.contains("too many requests of `eve` wait") })
        harness.untakenReplyBytes = 1000
        for _ in 0..<50 { harness.send("geomatch/d/eve/request/changes/get", #"{"since":0}"#) }
        #expect(refused > 30 && harness.payloads("geomatch/d/eve/reply").count == refused)
        harness.advance(milliseconds: 2000)
        let reported = harness.payloads("geomatch/d/eve/diagnostics/overload")
        #expect(reported.count == 2 && reported.last?.contains(#""count":49"#) == true, "\(reported)")
        harness.untakenReplyBytes = 0
        harness.isDiskSlow = false
        harness.advance(milliseconds: 2000)
        #expect(harness.payloads("geomatch/d/eve/reply").count == 50)
    }
}
