import SeededRandom
import Testing

@testable import GeomatchClient

@Suite("Mailboxes", .timeLimit(.minutes(5)))
struct MailboxTests {
    @Test("A full mailbox leaves out the oldest and counts it")
    func bound() async throws {
        let mailbox = Mailbox<Int, Never>(capacity: 3)
        for number in 1...10 { mailbox.send(number) }
        mailbox.finish(nil)
        #expect(mailbox.dropped == 7)
        var taken: [Int] = []
        for await number in BufferedSequence(mailbox: mailbox) { taken.append(number) }
        #expect(taken == [8, 9, 10])
    }

    @Test("What may not be left out outlives what may")
    func kept() async throws {
        let mailbox = Mailbox<Int, Never>(capacity: 3) { $0 % 10 != 0 }
        for number in [10, 1, 2, 20, 3, 30, 4] { mailbox.send(number) }
        mailbox.finish(nil)
        var taken: [Int] = []
        for await number in BufferedSequence(mailbox: mailbox) { taken.append(number) }
        #expect(taken == [20, 30, 4])
        #expect(mailbox.dropped == 4)
    }

    @Test("It behaves as a list that is cut at its bound, whatever the order of sending and taking")
    func twin() async throws {
        var random = SplitMix64.forTest()
        let mailbox = Mailbox<Int, Never>(capacity: 50) { $0 % 7 != 0 }
        var twin: [Int] = []
        for number in 0..<20_000 {
            if random.chance(60) {
                mailbox.send(number)
                if twin.count == 50 { twin.remove(at: twin.firstIndex { $0 % 7 != 0 } ?? 0) }
                twin.append(number)
            } else if !twin.isEmpty {
                #expect(await mailbox.next() == twin.removeFirst())
            }
        }
        #expect(mailbox.dropped > 0)
    }

    @Test("Its failure is reported once, after what was sent before it")
    func failing() async throws {
        let mailbox = Mailbox<Int, GeomatchError>(capacity: 3)
        mailbox.send(1)
        mailbox.finish(.closed)
        mailbox.send(2)
        #expect(try await mailbox.next() == 1)
        await #expect(throws: GeomatchError.closed) { try await mailbox.next() }
        #expect(try await mailbox.next() == nil)
    }

    @Test("A cancelled consumer ends, and takes nothing away")
    func cancellation() async throws {
        let mailbox = Mailbox<Int, Never>(capacity: 3)
        let task = Task { await mailbox.next() }
        task.cancel()
        #expect(await task.value == nil)
        mailbox.send(1)
        #expect(await mailbox.next() == 1)
    }
}
