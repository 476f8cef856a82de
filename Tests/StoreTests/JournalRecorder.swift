import Dispatch
import Records
import Synchronization

@testable import Store

/// Hears what a journal reports, and lets a test wait for it.
final class JournalRecorder: Sendable {
    private struct Heard {
        var events: [JournalEvent] = []
        var completions: [JournalCompletion] = []
    }

    private let heard = Mutex(Heard())
    private let something = DispatchSemaphore(value: 0)

    func journal(_ store: any DurableStore, retryInterval: Double = 0.01) -> Journal {
        Journal(
            store: store, retryInterval: retryInterval, wake: { self.something.signal() },
            report: { event in
                self.heard.withLock { $0.events.append(event) }
                self.something.signal()
            })
    }

    var events: [JournalEvent] { heard.withLock { $0.events } }

    /// Waits for so many events; returns what came in a minute.
    func events(_ count: Int) -> [JournalEvent] {
        while events.count < count { if something.wait(timeout: .now() + 60) == .timedOut { break } }
        return events
    }

    /// Collects until the completions fulfil a condition; returns what came in a minute.
    @discardableResult
    func completions(of journal: Journal, until isEnough: ([JournalCompletion]) -> Bool) -> [JournalCompletion] {
        while true {
            let all = heard.withLock { heard in
                heard.completions += journal.collect()
                return heard.completions
            }
            if isEnough(all) || something.wait(timeout: .now() + 60) == .timedOut { return all }
        }
    }

    @discardableResult
    func durable(through token: UInt64, of journal: Journal) -> [JournalCompletion] {
        completions(of: journal) { $0.lastDurable >= token }
    }

    /// Waits for so many refusals, and returns the last.
    func refusal(_ count: Int = 1, of journal: Journal) -> (from: UInt64, error: StoreError)? {
        completions(of: journal) { $0.refusals.count >= count }.refusals.last
    }
}

extension [JournalCompletion] {
    var lastDurable: UInt64 {
        reduce(0) { last, completion in if case .durable(let through) = completion { Swift.max(last, through) } else { last } }
    }

    var refusals: [(from: UInt64, error: StoreError)] {
        compactMap { if case .refused(let from, let error) = $0 { (from, error) } else { nil } }
    }

    var answers: [(token: UInt64, answer: StoreAnswer)] {
        compactMap { if case .answer(let token, let answer) = $0 { (token, answer) } else { nil } }
    }
}
