import Dispatch
import Synchronization

@testable import Store

/// Hears what a journal tells, and lets a test wait for it.
final class JournalRecorder: Sendable {
    private struct Heard {
        var events: [JournalEvent] = []
        var completions: [JournalCompletion] = []
    }

    private let heard = Mutex(Heard())
    private let something = DispatchSemaphore(value: 0)

    func journal(_ store: Store, retryInterval: Double = 0.01) -> Journal {
        Journal(
            store: store, retryInterval: retryInterval, wake: { self.something.signal() },
            report: { event in
                self.heard.withLock { $0.events.append(event) }
                self.something.signal()
            })
    }

    var events: [JournalEvent] { heard.withLock { $0.events } }

    /// Waits for so many events; returns what came in ten seconds.
    func events(_ count: Int) -> [JournalEvent] {
        while events.count < count { if something.wait(timeout: .now() + 10) == .timedOut { break } }
        return events
    }

    /// Collects until there are so many completions; returns what came in ten seconds.
    func completions(_ count: Int, of journal: Journal) -> [JournalCompletion] {
        while true {
            let all = heard.withLock { heard in
                heard.completions += journal.collect()
                return heard.completions
            }
            if all.count >= count || something.wait(timeout: .now() + 10) == .timedOut { return all }
        }
    }
}
