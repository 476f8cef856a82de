import SeededRandom
import Testing

@testable import Posting

@Suite("The queue of posts")
struct FairQueueTests {
    private struct Work: Equatable {
        var number: Int
        var origin: String
    }

    @Test("Origins take turns, each in its own order")
    func turns() {
        var queue = FairQueue<String>()
        for work in ["a1", "a2", "a3", "b1", "c1", "c2"] { queue.append(work, origin: String(work.prefix(1))) }
        var order: [String] = []
        while let work = queue.next() { order.append(work) }
        #expect(order == ["a1", "b1", "c1", "a2", "c2", "a3"])
    }

    @Test("No more run at once than may, in all and for each origin; who may run does, in order, and none is lost")
    func bounds() {
        var random = SplitMix64.forTest()
        for _ in 0..<200 {
            let maximum = Int(random.next() % 6) + 1
            let perOrigin = Int(random.next() % 3) + 1
            var queue = FairQueue<Work>(runningMaximum: maximum, perOrigin: perOrigin)
            var waiting: [Work] = []
            var running: [Work] = []
            var added = 0
            for _ in 0..<300 {
                switch random.next() % 4 {
                case 0, 1:
                    let work = Work(number: added, origin: "\(random.next() % 4)")
                    queue.append(work, origin: work.origin)
                    waiting.append(work)
                    added += 1
                case 2:
                    guard !running.isEmpty else { continue }
                    queue.finished(origin: running.remove(at: Int(random.next() % UInt64(running.count))).origin)
                default:
                    func mayRun(_ work: Work) -> Bool { running.count { $0.origin == work.origin } < perOrigin }
                    guard let work = queue.next() else {
                        #expect(running.count == maximum || !waiting.contains(where: mayRun))
                        continue
                    }
                    #expect(running.count < maximum && mayRun(work))
                    #expect(waiting.first { $0.origin == work.origin } == work)
                    waiting.removeAll { $0 == work }
                    running.append(work)
                }
                #expect(queue.count == waiting.count && queue.running == running.count)
            }
        }
    }
}
