import Foundation
import Synchronization
import Testing

@testable import GeomatchClient

/// While a task is cancelled the runtime holds a lock of the task's own, which resuming it takes too; our handlers take ours.
@Suite("Cancelling what is being answered", .timeLimit(.minutes(5)))
struct CancellationTests {
    @Test("A request cancelled while its reply comes does not hold the session for ever")
    func request() async throws {
        let session = try Session(GeomatchConfiguration(broker: "mqtt://127.0.0.1", dataset: "museum", client: "app"))
        for _ in 0..<200 {
            let reply = Mutex<(@Sendable (Result<Bool, GeomatchError>) -> Void)?>(nil)
            let task = Task {
                try await session.wait { (_, done: @escaping @Sendable (Result<Bool, GeomatchError>) -> Void) in
                    reply.withLock { $0 = done }
                    return { _ in }
                }
            }
            while reply.withLock({ $0 == nil }) { await Task.yield() }
            let isAnswered = await ends {
                session.change { _ in
                    Thread { task.cancel() }.start()
                    while !task.isCancelled { sched_yield() }
                    reply.withLock { $0 }?(.success(true))
                }
            }
            try #require(isAnswered)
            #expect(try await task.value)
        }
    }

    @Test("A consumer cancelled while something is sent to it does not hold the sender for ever")
    func consumer() async throws {
        let mailbox = Mailbox<Int, Never>(capacity: 10_000)
        for number in 0..<5000 {
            let task = Task { await mailbox.next() }
            let isSent = await ends {
                Thread { task.cancel() }.start()
                while !task.isCancelled { sched_yield() }
                mailbox.send(number)
            }
            try #require(isSent)
            // What the consumer did not get is kept for the next.
            if await task.value == nil { #expect(await mailbox.next() == number) }
        }
    }

    /// Whether `body`, on a thread of its own, comes to its end within 20 s.
    private func ends(_ body: @escaping @Sendable () -> Void) async -> Bool {
        await withCheckedContinuation { continuation in
            let waiting = Mutex<CheckedContinuation<Bool, Never>?>(continuation)
            let end: @Sendable (Bool) -> Void = { hasEnded in
                waiting.withLock { $0.take() }?.resume(returning: hasEnded)
            }
            Thread {
                body()
                end(true)
            }.start()
            DispatchQueue.global().asyncAfter(deadline: .now() + 20) { end(false) }
        }
    }
}
