import Foundation
import MemoryStore
import SeededRandom
import Synchronization
import Testing

@testable import Records
@testable import Store

@Suite("Journal")
struct JournalTests {
    private func dataset(_ id: String) -> DurableChange {
        .put(DatasetRecord(id: id, createdAt: 1, updatedAt: 1, revision: "1-a"))
    }

    private func match(_ number: Int64) -> DurableChange {
        .put(
            MatchRecord(
                number: number, dataset: "city", id: "m\(number)", deviceId: "d", subscriptionId: "s", publicationId: "p",
                owner: nil, createdAt: number, body: [1], pending: false))
    }

    private func newest(_ store: any DurableStore) throws -> StoreAnswer {
        try store.matches(dataset: "city", deviceId: "d").map { .matches($0) } ?? .noSuchMatch
    }

    private func withJournal(
        _ subject: Subject, retryInterval: Double = 0.01, _ body: (any FaultyStore, Journal, JournalRecorder) throws -> Void
    ) throws {
        try subject.withStore { store in
            let recorder = JournalRecorder()
            let journal = recorder.journal(store, retryInterval: retryInterval)
            try body(store, journal, recorder)
        }
    }

    // MARK: Writing

    @Test("What was appended becomes durable in order, and a read behind it sees it", arguments: Subject.allCases)
    func order(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            for number in 1...50 {
                journal.append([match(Int64(number))], token: UInt64(number), mayWait: number % 3 > 0)
                guard number % 10 == 0 else { continue }
                recorder.durable(through: UInt64(number), of: journal)
                #expect(journal.backlog == 0)
                journal.read(token: 1000 + UInt64(number)) { try self.newest($0) }
            }
            let completions = recorder.completions(of: journal) { $0.answers.count == 5 }
            for (token, answer) in completions.answers {
                guard case .matches(let matches) = answer else {
                    Issue.record("\(answer)")
                    continue
                }
                // What was written meanwhile may be seen, too.
                #expect(matches.map(\.number) == Array(1...Int64(matches.count)) && matches.count >= token - 1000)
            }
            let durable = completions.compactMap { if case .durable(let through) = $0 { through } else { nil } }
            #expect(durable == durable.sorted() && durable.last == 50)
            #expect(journal.close(timeoutSeconds: 60))
            #expect(recorder.events == [.closed(unwritten: 0)])
        }
    }

    @Test(
        "A batch that may not wait is given back on a full disk with everything behind it; what stands before it waits",
        arguments: Subject.allCases)
    func fullDisk(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            try store.fill()
            journal.append([dataset("waits"), DurableChange.bulk(1)], token: 1, mayWait: true)
            #expect(recorder.events(1) == [.failing(.full)])
            #expect(!journal.isWritable)
            journal.append([match(1)], token: 2, mayWait: true)
            journal.append([dataset("refused")], token: 3, mayWait: false)
            // Decided before the refusal was collected, and perhaps because of what was refused.
            journal.append([dataset("rests on it")], token: 4, mayWait: true)
            journal.append([dataset("too")], token: 5, mayWait: false)
            let refusal = try #require(recorder.refusal(of: journal))
            #expect(refusal == (3, .full))
            #expect(journal.backlog == 3)
            journal.resume(afterRefusal: 3)
            journal.append([dataset("later")], token: 6, mayWait: true)
            journal.append([dataset("refused again")], token: 7, mayWait: false)
            #expect(try #require(recorder.refusal(2, of: journal)) == (7, .full))
            journal.resume(afterRefusal: 7)

            try store.makeSpace()
            guard case .recovered(let waited) = recorder.events(2).last else {
                Issue.record("\(recorder.events)")
                return
            }
            #expect(waited > 0)
            recorder.durable(through: 6, of: journal)
            #expect(journal.isWritable)
            journal.append([dataset("after")], token: 8, mayWait: false)
            recorder.durable(through: 8, of: journal)
            #expect(journal.backlog == 0)
            #expect(try store.restored().datasets.keys.sorted() == ["after", "later", "waits"])
            #expect(journal.close(timeoutSeconds: 60))
            #expect(recorder.events.count == 3)
        }
    }

    @Test(
        "The batch whose failure begins the outage is given back too, and the store heals with nothing waiting",
        arguments: Subject.allCases)
    func healsIdle(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            try store.fill()
            journal.append([DurableChange.bulk()], token: 1, mayWait: false)
            #expect(try #require(recorder.refusal(of: journal)) == (1, .full))
            #expect(journal.backlog == 0)
            try store.makeSpace()
            #expect(recorder.events(2).count == 2)
            #expect(journal.isWritable)
            journal.resume(afterRefusal: 1)
            journal.append([DurableChange.bulk()], token: 2, mayWait: false)
            recorder.durable(through: 2, of: journal)
            #expect(journal.close(timeoutSeconds: 60))
        }
    }

    @Test("Until a refusal was taken in nothing is kept; another refusal's token does not count", arguments: Subject.allCases)
    func refusalLasts(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            try store.fill()
            journal.append([DurableChange.bulk()], token: 1, mayWait: false)
            _ = recorder.refusal(of: journal)
            try store.makeSpace()
            _ = recorder.events(2)
            journal.append([dataset("a")], token: 2, mayWait: true)
            journal.resume(afterRefusal: 2)
            journal.append([dataset("b")], token: 3, mayWait: false)
            #expect(journal.backlog == 0)
            journal.resume(afterRefusal: 1)
            journal.append([dataset("c")], token: 4, mayWait: false)
            let completions = recorder.durable(through: 4, of: journal)
            #expect(completions.refusals.count == 1)
            #expect(try store.restored().datasets.keys.sorted() == ["c"])
            #expect(journal.close(timeoutSeconds: 60))
        }
    }

    @Test(
        "A batch that cannot be written by itself is given back from it on, those before it are kept, and it is no outage",
        arguments: Subject.allCases)
    func poisonedBatch(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            try store.poison()
            // Held up, so that all of it is one transaction.
            try store.holdingWrites {
                journal.append([dataset("before")], token: 1, mayWait: true)
                journal.append([dataset("request")], token: 2, mayWait: false)
                journal.append([dataset("never"), .poison], token: 3, mayWait: false)
                journal.append([dataset("behind")], token: 4, mayWait: true)
            }
            let refusal = try #require(recorder.refusal(of: journal))
            #expect(refusal.from == 3)
            guard case .other = refusal.error else {
                Issue.record("\(refusal)")
                return
            }
            recorder.durable(through: 2, of: journal)
            #expect(journal.isWritable)
            journal.resume(afterRefusal: 3)
            journal.append([dataset("after")], token: 5, mayWait: false)
            recorder.durable(through: 5, of: journal)
            #expect(try store.restored().datasets.keys.sorted() == ["after", "before", "request"])
            #expect(journal.close(timeoutSeconds: 60))
            #expect(recorder.events == [.closed(unwritten: 0)])
        }
    }

    @Test("Closing writes what waits", arguments: Subject.allCases)
    func closingDrains(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            for number in 1...200 { journal.append([match(Int64(number))], token: UInt64(number), mayWait: true) }
            #expect(journal.close(timeoutSeconds: 60))
            let highest = try store.highestMatchNumber
            #expect(highest == 200)
            #expect(journal.collect().lastDurable == 200)
        }
    }

    @Test("Closing on a full disk gives up in time and says what was lost", arguments: Subject.allCases)
    func closingGivesUp(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            try store.fill()
            journal.append([DurableChange.bulk(), dataset("lost")], token: 1, mayWait: true)
            #expect(!journal.close(timeoutSeconds: 0.05))
            #expect(recorder.events(2) == [.failing(.full), .closed(unwritten: 2)])
            #expect(journal.backlog == 2)
        }
    }

    @Test(
        "Closing on a disk that has just healed writes what waits, without waiting for the next try", arguments: Subject.allCases)
    func closingHurries(_ subject: Subject) throws {
        try withJournal(subject, retryInterval: 3600) { store, journal, recorder in
            try store.fill()
            journal.append([DurableChange.bulk()], token: 1, mayWait: true)
            #expect(recorder.events(1) == [.failing(.full)])
            try store.makeSpace()
            #expect(journal.close(timeoutSeconds: 60))
            #expect(try store.restored().liveStates.count == 1)
        }
    }

    @Test("In a long outage the newest state of each topic waits, and no more", arguments: Subject.allCases)
    func outageIsBounded(_ subject: Subject) throws {
        try withJournal(subject, retryInterval: 3600) { store, journal, recorder in
            try store.fill()
            for round in 1...120 {
                let states = (0..<1000).map { topic in
                    DurableChange.put(
                        LiveStateRecord(
                            dataset: "city", topic: "t\(topic)", timestamp: Int64(round), receivedAt: 1, number: Int64(round),
                            payload: [UInt8](repeating: 1, count: 50)))
                }
                journal.append(states + [dataset("d\(round)")], token: UInt64(round), mayWait: true)
            }
            let bound = 2 * Backlog.groupMax + 1001
            // Merging is on its way: it is done when the backlog is short, and only a hang would keep it long.
            let deadline = Gate.now() + 60
            while journal.backlog >= bound, Gate.now() < deadline { sched_yield() }
            #expect(journal.backlog < bound)
            try store.makeSpace()
            #expect(journal.close(timeoutSeconds: 60))
            #expect(journal.collect().lastDurable == 120)
            #expect(journal.backlog == 0)
            let restored = try store.restored()
            #expect(restored.datasets.count == 120)
            #expect(restored.liveStates.count == 1000)
            #expect(restored.liveStates.allSatisfy { $0.number == 120 })
        }
    }

    @Test(
        "Whatever fails in between, each batch is durable or given back, and what is kept is what was not given back, in order",
        arguments: Subject.allCases)
    func randomFaults(_ subject: Subject) throws {
        let seed = SplitMix64.seed()
        try withJournal(subject, retryInterval: 0.001) { store, journal, recorder in
            var random = SplitMix64(seed: seed)
            var caller = Caller(history: RandomHistory(seed: seed))
            try store.poison()
            for step in 0..<600 {
                if step % 10 == 0 {
                    if Bool.random(using: &random) { try store.makeSpace() } else { try store.fill() }
                }
                let mayWait = Int.random(in: 0..<3, using: &random) > 0
                let isPoisoned = !mayWait && Int.random(in: 0..<5, using: &random) == 0
                caller.append(isPoisoned ? [.poison] : [], mayWait: mayWait, to: journal)
                if Int.random(in: 0..<4, using: &random) == 0 { try caller.take(journal.collect(), journal) }
            }
            try store.makeSpace()
            try caller.settle(journal)
            // On a slow store there may have been no space whenever one was poisoned: now there is.
            caller.append([.poison], mayWait: false, to: journal)
            try caller.settle(journal)
            #expect(journal.close(timeoutSeconds: 60))
            try caller.take(journal.collect(), journal)
            #expect(caller.unsettled.isEmpty)
            #expect(try store.restored().difference(from: try Snapshot(caller.twin)) == [])
            #expect(caller.refusals > 0 && caller.poisoned > 0)
            // Each episode was reported once at its begin and once at its end.
            for (index, event) in recorder.events.dropLast().enumerated() {
                if case .failing = event { #expect(index % 2 == 0) } else { #expect(index % 2 == 1) }
            }
        }
    }

    /// A caller that decides on, as the daemon's loop does, while the journal works.
    private struct Caller {
        var history: RandomHistory
        /// What was said to be durable.
        var twin = MemoryStore()
        var unsettled: [(token: UInt64, changes: [DurableChange], mayWait: Bool, isPoisoned: Bool)] = []
        var refusals = 0
        var poisoned = 0
        private var token: UInt64 = 0

        init(history: RandomHistory) { self.history = history }

        mutating func append(_ more: [DurableChange], mayWait: Bool, to journal: Journal) {
            token += 1
            let changes = history.batch(upTo: 20) + more
            unsettled.append((token, changes, mayWait, !more.isEmpty))
            journal.append(changes, token: token, mayWait: mayWait)
        }

        /// Waits until all is durable or given back; a minute at most.
        mutating func settle(_ journal: Journal) throws {
            let deadline = Gate.now() + 60
            while !unsettled.isEmpty, Gate.now() < deadline {
                try take(journal.collect(), journal)
                sched_yield()
            }
        }

        mutating func take(_ completions: [JournalCompletion], _ journal: Journal) throws {
            for completion in completions {
                switch completion {
                case .durable(let through):
                    while let first = unsettled.first, first.token <= through {
                        try #require(!first.isPoisoned)
                        for change in first.changes { twin.apply(change) }
                        unsettled.removeFirst()
                    }
                case .refused(let from, let error):
                    let index = try #require(unsettled.firstIndex { $0.token == from })
                    try #require(!unsettled[index].mayWait)
                    if case .other = error {
                        try #require(unsettled[index].isPoisoned)
                        poisoned += 1
                    }
                    unsettled.removeSubrange(index...)
                    refusals += 1
                    journal.resume(afterRefusal: from)
                case .answer: Issue.record("nothing was asked")
                }
            }
        }
    }

    // MARK: Reading

    @Test("Reads are answered in order on a full disk, and see what is durable", arguments: Subject.allCases)
    func readsDuringOutage(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            journal.append([match(1)], token: 1, mayWait: false)
            recorder.durable(through: 1, of: journal)
            try store.fill()
            journal.append([DurableChange.bulk(), match(2)], token: 2, mayWait: true)
            _ = recorder.events(1)
            for token in 1...5 as ClosedRange<UInt64> { journal.read(token: token) { try self.newest($0) } }
            let answers = recorder.completions(of: journal) { $0.answers.count == 5 }.answers
            #expect(answers.map(\.token) == [1, 2, 3, 4, 5])
            for (_, answer) in answers {
                guard case .matches(let matches) = answer else {
                    Issue.record("\(answer)")
                    return
                }
                #expect(matches.map(\.number) == [1])
            }
            try store.makeSpace()
            #expect(journal.close(timeoutSeconds: 60))
        }
    }

    @Test("A read does not wait for a write that lasts", arguments: Subject.allCases)
    func readsBesideWrites(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            journal.append([match(1)], token: 1, mayWait: false)
            recorder.durable(through: 1, of: journal)
            try store.holdingWrites {
                journal.append([match(2)], token: 2, mayWait: true)
                journal.read(token: 1) { try self.newest($0) }
                let completions = recorder.completions(of: journal) { !$0.answers.isEmpty }
                #expect(completions.answers.count == 1)
                #expect(completions.lastDurable == 1)
                // Nor does a dataset that is loaded again, nor a single record.
                var known: [DurableChange] = []
                try store.restore(dataset: "city") { known.append($0) }
                #expect(known.count == 1)
            }
            recorder.durable(through: 2, of: journal)
            #expect(journal.close(timeoutSeconds: 60))
        }
    }

    #if os(Linux)
        @Test("Pages give way where the cores are busy, and what others wait for is not behind them", .timeLimit(.minutes(1)))
        func readsGiveWay() throws {
            try withJournal(.memory) { _, journal, recorder in
                let priority: @Sendable () -> Int32 = { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
                let own = priority()
                let seen = Mutex<[UInt64: Int32]>([:])
                journal.read(token: 1) { _ in
                    while seen.withLock({ $0[3] }) == nil { usleep(1000) }
                    seen.withLock { $0[1] = priority() }
                    return .match(nil)
                }
                for token in 2...3 as ClosedRange<UInt64> {
                    journal.read(token: token, isForAll: true) { _ in
                        seen.withLock { $0[token] = priority() }
                        return .match(nil)
                    }
                }
                let answers = recorder.completions(of: journal) { $0.answers.count == 3 }.answers
                #expect(answers.map(\.token) == [2, 3, 1])
                #expect(seen.withLock { $0 } == [1: max(10, own), 2: own, 3: own])
                #expect(journal.close(timeoutSeconds: 60))
            }
        }
    #endif

    @Test("What a read throws is an answer, and the next one is read", arguments: Subject.allCases)
    func failingRead(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            journal.read(token: 1) { _ in throw StoreError.corrupt }
            journal.read(token: 2) { try self.newest($0) }
            let answers = recorder.completions(of: journal) { $0.answers.count == 2 }.answers
            #expect(answers.map(\.answer) == [.failed, .matches([])])
            #expect(journal.close(timeoutSeconds: 60))
        }
    }

    @Test("Far more reads than may lie uncollected are all answered, in order", arguments: Subject.allCases)
    func manyReads(_ subject: Subject) throws {
        try withJournal(subject) { store, journal, recorder in
            for token in 1...500 as ClosedRange<UInt64> { journal.read(token: token) { _ in .match(nil) } }
            let answers = recorder.completions(of: journal) { $0.answers.count == 500 }.answers
            #expect(answers.map(\.token) == Array(1...500))
            #expect(journal.close(timeoutSeconds: 60))
        }
    }

    @Test("Reading pauses at 64 uncollected answers and at 16 MiB of them", arguments: [(10, 64), (5 << 20, 4)])
    func readsAreBounded(bytes: Int, count: Int) {
        var questions = Journal.Questions()
        for token in 1...2000 as ClosedRange<UInt64> { questions.append(token) { _ in .failed } }
        let row = FeedRow(
            seq: 1, type: "note", id: "n", revision: "1-a", isDeleted: false, losers: [],
            content: [UInt8](repeating: 0, count: bytes))
        let answer = StoreAnswer.feed(FeedPage(last: 1, purgedThrough: 0, rows: [row], isPart: false))
        var tokens: [UInt64] = []
        for round in 1...3 {
            while let next = questions.next() {
                tokens.append(next.token)
                questions.wasAnswered(answer)
            }
            #expect(tokens.count == round * count)
            questions.answersWereCollected()
        }
        #expect(tokens == Array(1...UInt64(tokens.count)))
    }
}
