import Datasets
import Foundation
import GRDB
import SeededRandom
import Testing

@testable import Store
@testable import Records

@Suite("Journal")
struct JournalTests {
    private func dataset(_ id: String) -> DurableChange {
        .putDataset(DatasetRecord(id: id, createdAt: 1, updatedAt: 1, revision: "1-a"))
    }

    private func match(_ number: Int64) -> DurableChange {
        .putMatch(
            MatchRecord(
                number: number, dataset: "city", id: "m\(number)", deviceId: "d", subscriptionId: "s", publicationId: "p",
                owner: nil,
                createdAt: number, body: [1], pending: false))
    }

    /// Too much for a store that may not grow.
    private func bulk(_ number: Int = 0) -> DurableChange {
        .putLiveState(
            LiveStateRecord(
                dataset: "city", topic: "t\(number)", timestamp: 1, receivedAt: 1, number: 1,
                payload: [UInt8](repeating: 1, count: 60_000)))
    }

    private func newest(_ store: Store) throws -> StoreAnswer {
        try store.matches(dataset: "city", deviceId: "d").map { .matches($0) } ?? .noSuchMatch
    }

    @Test("All happens in the order it was handed over, and a read sees what came before it and nothing after")
    func order() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store)
            for number in 1...50 {
                journal.append([match(Int64(number))], token: UInt64(number))
                if number % 10 == 0 { journal.read(token: UInt64(1000 + number)) { try self.newest($0) } }
                if number % 25 == 0 {
                    try journal.commitNow([dataset("at\(number)")])
                    #expect(journal.backlog == 0)
                    #expect(try store.highestMatchNumber == Int64(number))
                    #expect(try store.restored().datasets["at\(number)"] != nil)
                }
            }
            let completions = recorder.completions(55, of: journal)
            var expected = 0
            for completion in completions {
                switch completion {
                case .durable(let token):
                    expected += 1
                    #expect(token == UInt64(expected))
                case .answer(let token, .matches(let matches)):
                    #expect(token == UInt64(1000 + expected))
                    #expect(matches.map(\.number) == Array(1...Int64(expected)))
                case .answer: Issue.record("\(completion)")
                }
            }
            #expect(completions.count == 55)
            #expect(journal.close(timeoutSeconds: 10))
            #expect(recorder.events == [.closed(unwritten: 0)])
        }
    }

    @Test("On a full disk demands fail at once and leave nothing, what was appended waits, reads go on, and it heals")
    func fullDisk() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store)
            try journal.commitNow([match(1)])
            try store.limitGrowth(pages: 2)
            #expect(throws: StoreError.full) { try journal.commitNow([dataset("refused"), bulk()]) }
            #expect(!journal.isWritable)
            journal.append([dataset("waits"), bulk(1)], token: 1)
            journal.append([match(2)], token: 2)
            #expect(throws: StoreError.full) { try journal.commitNow([dataset("small")]) }
            journal.read(token: 3) { try self.newest($0) }
            guard case .answer(3, .matches(let matches)) = recorder.completions(1, of: journal).first else {
                Issue.record("the read waited")
                return
            }
            #expect(matches.map(\.number) == [1])
            #expect(journal.backlog == 3)
            #expect(recorder.events == [.failing(.full)])

            try store.liftLimit()
            guard case .recovered(let waited) = recorder.events(2).last else {
                Issue.record("\(recorder.events)")
                return
            }
            #expect(waited > 0)
            #expect(recorder.completions(3, of: journal).suffix(2) == [.durable(1), .durable(2)])
            #expect(journal.isWritable)
            try journal.commitNow([dataset("after")])
            #expect(journal.backlog == 0)
            #expect(try store.restored().datasets.keys.sorted() == ["after", "waits"])
            #expect(try store.restored().liveStates.keys.map(\.id) == ["t1"])
            #expect(journal.close(timeoutSeconds: 10))
            #expect(recorder.events.count == 3)
        }
    }

    @Test("It heals with nothing waiting too")
    func healsIdle() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store)
            try store.limitGrowth(pages: 2)
            #expect(throws: StoreError.full) { try journal.commitNow([bulk()]) }
            #expect(journal.backlog == 0)
            try store.liftLimit()
            #expect(recorder.events(2).count == 2)
            #expect(journal.isWritable)
            try journal.commitNow([bulk()])
            #expect(journal.close(timeoutSeconds: 10))
        }
    }

    @Test("A demand whose own changes cannot be written fails alone")
    func poisonedDemand() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            // As if text were too long: what is in this table cannot be replaced.
            try store.queue.inDatabase {
                try $0.execute(
                    sql: "CREATE TRIGGER poison BEFORE INSERT ON device BEGIN SELECT raise(ABORT, 'poison'); END")
            }
            let recorder = JournalRecorder()
            let journal = recorder.journal(store)
            journal.append([dataset("before")], token: 1)
            #expect(throws: StoreError.self) {
                try journal.commitNow([
                    dataset("never"),
                    .putDevice(DeviceRecord(dataset: "c", id: "d", type: .pin, createdAt: 1, updatedAt: 1, revision: "1-a")),
                ])
            }
            #expect(recorder.completions(1, of: journal) == [.durable(1)])
            #expect(journal.isWritable)
            try journal.commitNow([dataset("after")])
            #expect(try store.restored().datasets.keys.sorted() == ["after", "before"])
            #expect(journal.close(timeoutSeconds: 10))
            #expect(recorder.events == [.closed(unwritten: 0)])
        }
    }

    @Test("Closing writes what waits; afterwards demands are refused")
    func closingDrains() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store)
            for number in 1...200 { journal.append([match(Int64(number))], token: UInt64(number)) }
            #expect(journal.close(timeoutSeconds: 10))
            #expect(try store.highestMatchNumber == 200)
            #expect(recorder.completions(200, of: journal).count == 200)
            #expect(throws: StoreError.self) { try journal.commitNow([dataset("late")]) }
            // The store is still there for the last mark.
            try store.setMetadata("clean", "1")
            try store.close()
        }
    }

    @Test("Closing on a full disk gives up in time and says what was lost")
    func closingGivesUp() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store)
            try store.limitGrowth(pages: 2)
            journal.append([bulk(), dataset("lost")], token: 1)
            #expect(!journal.close(timeoutSeconds: 0.05))
            #expect(recorder.events(2) == [.failing(.full), .closed(unwritten: 2)])
            #expect(journal.backlog == 2)
        }
    }

    @Test("Closing on a disk that has just healed writes what waits, without waiting for the next try")
    func closingHurries() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store, retryInterval: 3600)
            try store.limitGrowth(pages: 2)
            journal.append([bulk()], token: 1)
            #expect(recorder.events(1) == [.failing(.full)])
            try store.liftLimit()
            #expect(journal.close(timeoutSeconds: 10))
            #expect(try store.restored().liveStates.count == 1)
        }
    }

    @Test("In a long outage the newest state of each topic waits, and no more; every batch is told in order")
    func outageIsBounded() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store)
            try store.limitGrowth(pages: 2)
            for round in 1...120 {
                let states = (0..<1000).map { topic in
                    DurableChange.putLiveState(
                        LiveStateRecord(
                            dataset: "city", topic: "t\(topic)", timestamp: Int64(round), receivedAt: 1, number: Int64(round),
                            payload: [UInt8](repeating: 1, count: 50)))
                }
                journal.append(states + [dataset("d\(round)")], token: UInt64(round))
            }
            // A second read that passes through the thread tells that it is done with all that came before the first.
            for count in 1...2 {
                journal.read(token: 0) { try self.newest($0) }
                _ = recorder.completions(count, of: journal)
            }
            #expect(journal.backlog < 2 * Backlog.groupMax + 1001)
            try store.liftLimit()
            let tokens = recorder.completions(122, of: journal).compactMap {
                if case .durable(let token) = $0 { token } else { nil }
            }
            #expect(tokens == Array(1...120))
            #expect(journal.backlog == 0)
            let restored = try store.restored()
            #expect(restored.datasets.count == 120)
            #expect(restored.liveStates.count == 1000)
            #expect(restored.liveStates.values.allSatisfy { $0.number == 120 })
            #expect(journal.close(timeoutSeconds: 10))
        }
    }

    @Test("Whatever fails in between, what is kept is what was appended and what was not refused, in order")
    func randomFaults() throws {
        let seed = SplitMix64.seed()
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store, retryInterval: 0.001)
            var random = SplitMix64(seed: seed)
            var history = RandomHistory(seed: seed)
            var twin = TwinStore()
            var refused = 0
            var tokens: UInt64 = 0
            for step in 0..<600 {
                if step % 10 == 0 {
                    if Bool.random(using: &random) { try store.liftLimit() } else { try store.limitGrowth(pages: 0) }
                }
                let batch = history.batch(upTo: 20)
                if Int.random(in: 0..<3, using: &random) > 0 {
                    tokens += 1
                    journal.append(batch, token: tokens)
                    twin.apply(batch)
                } else {
                    do {
                        try journal.commitNow(batch)
                        twin.apply(batch)
                        #expect(journal.backlog == 0)
                        try #require(try store.restored().difference(from: twin.snapshot) == [], "step \(step)")
                    } catch StoreError.full {
                        refused += 1
                    }
                }
            }
            try store.liftLimit()
            #expect(journal.close(timeoutSeconds: 10))
            #expect(try store.restored().difference(from: twin.snapshot) == [])
            #expect(recorder.completions(Int(tokens), of: journal) == (1...tokens).map { .durable($0) })
            #expect(refused > 0)
            // Each episode was told once at its begin and once at its end.
            let events = recorder.events.dropLast()
            for (index, event) in events.enumerated() {
                if case .failing = event { #expect(index % 2 == 0) } else { #expect(index % 2 == 1) }
            }
        }
    }

    @Test("Several threads may demand at once")
    func severalThreads() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let recorder = JournalRecorder()
            let journal = recorder.journal(store)
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                for number in 0..<25 { try? journal.commitNow([dataset("d\(thread)-\(number)")]) }
            }
            #expect(try store.restored().datasets.count == 100)
            #expect(journal.close(timeoutSeconds: 10))
        }
    }
}
