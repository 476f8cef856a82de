import Foundation
import MemoryStore
import SeededRandom
import Synchronization
import Testing

@testable import Store
@testable import Records

/// A crash leaves the database file as the last checkpoint left it and a prefix of what was written to the log. The process cannot be
/// killed here, so copies of both files, taken while it writes, stand for what a crash leaves.
@Suite("A crash of the store")
struct StoreCrashTests {
    /// What happened after each batch; batch `n` marks itself with `n` as the revision of one dataset.
    private final class Witness: Sendable {
        struct State {
            var twin = MemoryStore()
            var snapshots = [Snapshot()]
        }
        let state = Mutex(State())
        let acknowledged = Atomic<Int>(0)

        func begin(_ batch: [DurableChange]) throws {
            try state.withLock {
                for change in batch { $0.twin.apply(change) }
                $0.snapshots.append(try Snapshot($0.twin))
            }
        }
    }

    /// Nothing is forgotten, as that writes the log back at once.
    private static func marked(_ batch: [DurableChange], _ number: Int) -> [DurableChange] {
        batch.filter { if case .forget = $0 { false } else { true } }
            + [.put(DatasetRecord(id: "mark", createdAt: 0, updatedAt: 0, revision: "\(number)"))]
    }

    /// Opens a copy of the two files and returns the number of its last batch, when all of it is there and nothing else.
    private static func survivor(
        _ scratch: Scratch, _ number: Int, database: Data, log: Data, _ witness: Witness
    ) throws -> Int {
        let copy = Scratch(path: scratch.path + "/copy-\(number)")
        try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: copy.path) }
        try database.write(to: URL(fileURLWithPath: copy.storePath))
        try log.write(to: URL(fileURLWithPath: copy.storePath + "-wal"))
        let restored = try copy.store().restored()
        let last = restored.datasets["mark"].flatMap { Int($0.revision) } ?? 0
        let expected = witness.state.withLock { $0.snapshots[last] }
        try #require(restored.difference(from: expected) == [], "batch \(last)")
        return last
    }

    @Test("At any moment a crash leaves a prefix of the batches, and every acknowledged one")
    func anyMoment() throws {
        let seed = SplitMix64.seed()
        try withScratch { scratch in
            let store = try scratch.store()
            // Checkpoints are taken between the rounds: one in the middle of a copy would mix two moments.
            try store.queue.inDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
            let witness = Witness()
            var random = SplitMix64(seed: seed)
            var survived: Set<Int> = []
            for round in 0..<6 {
                let database = try scratch.bytes()
                let first = witness.acknowledged.load(ordering: .acquiring)
                let writer = Thread {
                    var history = RandomHistory(seed: seed &+ UInt64(round))
                    for number in (first + 1)...(first + 60) {
                        let batch = Self.marked(history.batch(upTo: 30), number)
                        guard (try? witness.begin(batch)) != nil, (try? store.commit(batch)) != nil else { return }
                        witness.acknowledged.store(number, ordering: .releasing)
                    }
                }
                writer.start()
                var copies: [(acknowledged: Int, log: Data)] = []
                while witness.acknowledged.load(ordering: .acquiring) < first + 60 {
                    let acknowledged = witness.acknowledged.load(ordering: .acquiring)
                    copies.append((acknowledged, try scratch.bytes("-wal")))
                }
                for (index, copy) in copies.shuffled(using: &random).prefix(8).enumerated() {
                    let last = try Self.survivor(scratch, index, database: database, log: copy.log, witness)
                    #expect(last >= copy.acknowledged)
                    survived.insert(last)
                    // A power cut may also lose the end of what was being written.
                    let part = copy.log.prefix(Int.random(in: 0...copy.log.count, using: &random))
                    let earlier = try Self.survivor(scratch, index, database: database, log: part, witness)
                    #expect(earlier <= last)
                    survived.insert(earlier)
                }
                _ = try store.queue.inDatabase { try $0.checkpoint(.truncate) }
            }
            #expect(survived.count > 10)
        }
    }

    @Test("A crash while the database is made leaves one that can be made")
    func whileMade() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            try store.commit(Self.marked([], 1))
            let witness = Witness()
            try witness.begin(Self.marked([], 1))
            let database = try scratch.bytes()
            let log = try scratch.bytes("-wal")
            // After each frame of the log (a header of 32 bytes, then 24 and a page each).
            for (number, end) in stride(from: 32, through: log.count, by: 24 + 4096).enumerated() {
                let last = try Self.survivor(scratch, number, database: database, log: log.prefix(end), witness)
                #expect(last == (end == log.count ? 1 : 0))
            }
        }
    }

    @Test("A crash in the middle of a checkpoint loses nothing")
    func duringCheckpoint() throws {
        let seed = SplitMix64.seed()
        try withScratch { scratch in
            let store = try scratch.store()
            try store.queue.inDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
            let witness = Witness()
            var random = SplitMix64(seed: seed)
            var history = RandomHistory(seed: seed)
            for number in 1...60 {
                let before = try scratch.bytes()
                let batch = Self.marked(history.batch(upTo: 30), number)
                try witness.begin(batch)
                try store.commit(batch)
                guard number % 10 == 0 else { continue }
                let log = try scratch.bytes("-wal")
                _ = try store.queue.inDatabase { try $0.checkpoint(.passive) }
                let after = try scratch.bytes()
                // Some pages were written back and others not yet.
                var torn = before + Data(count: max(0, after.count - before.count))
                for page in 0..<(after.count / 4096) where Bool.random(using: &random) {
                    let range = page * 4096..<(page + 1) * 4096
                    torn.replaceSubrange(range, with: after[range])
                }
                #expect(try Self.survivor(scratch, number, database: torn, log: log, witness) == number)
                #expect(try Self.survivor(scratch, number, database: after, log: log, witness) == number)
                _ = try store.queue.inDatabase { try $0.checkpoint(.truncate) }
            }
        }
    }
}
