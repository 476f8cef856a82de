import Foundation
import SeededRandom
import Testing

@testable import Records
@testable import Store

@Suite("What a store was when it was closed")
struct StoreDigestTests {
    private static func live(_ number: Int, _ payload: [UInt8]) -> DurableChange {
        .put(
            LiveStateRecord(
                dataset: "city", topic: "t\(number)", timestamp: 1, receivedAt: 1, number: Int64(number), payload: payload))
    }

    private func closed(_ scratch: Scratch) throws {
        let store = try scratch.store()
        try store.commit((0..<500).map { Self.live($0, Array("{\"count\":\($0)}".utf8)) })
        try store.close()
    }

    @Test("Of 45 copies with flipped bytes 25 were used as they were: each is refused, and left as it is")
    func flipped() throws {
        try withScratch { scratch in
            try closed(scratch)
            let bytes = try scratch.bytes()
            var random = SplitMix64.forTest("flipped bytes")
            for _ in 0..<45 {
                var damaged = bytes
                for _ in 0...random.below(20) { damaged[random.below(damaged.count)] ^= UInt8(1 + random.below(255)) }
                guard damaged != bytes else { continue }
                try damaged.write(to: URL(fileURLWithPath: scratch.storePath))
                #expect(throws: StoreError.changed) { try scratch.store() }
                #expect(try scratch.bytes() == damaged)
            }
            try bytes.write(to: URL(fileURLWithPath: scratch.storePath))
            let store = try scratch.store()
            #expect(store.isAsClosed)
            #expect(try store.restored().liveStates.count == 500)
        }
    }

    @Test("One that was cut off, emptied or put back from elsewhere is refused; who did it on purpose removes the digest")
    func replaced() throws {
        try withScratch { scratch in
            try closed(scratch)
            let bytes = try scratch.bytes()
            for other in [Data(), bytes.prefix(4096), bytes.prefix(bytes.count - 4096), bytes + bytes] {
                try other.write(to: URL(fileURLWithPath: scratch.storePath))
                #expect(throws: StoreError.changed) { try scratch.store() }
            }
            #expect("\(StoreError.changed)".contains("geomatch.sqlite.digest"))
            var other = bytes
            other[bytes.count - 100] ^= 1
            try scratch.replace(other)
            #expect(try scratch.store().isAsClosed == false)
        }
    }

    @Test("A new store, one that was closed and one that is gone need no check; one that was not closed does")
    func known() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            #expect(store.isAsClosed)
            try store.commit([Self.live(1, [1])])
            // As a crash leaves it.
            let files = try ["", "-wal"].map { ($0, try scratch.bytes($0)) }
            try store.close()
            try closed(scratch)
            #expect(try scratch.store().isAsClosed)
            try withScratch { copy in
                for (suffix, bytes) in files { try bytes.write(to: URL(fileURLWithPath: copy.storePath + suffix)) }
                let store = try copy.store()
                #expect(!store.isAsClosed)
                #expect(try store.restored().liveStates.count == 1)
                try store.close()
                #expect(try copy.store().isAsClosed)
            }
            try closed(scratch)
            try FileManager.default.removeItem(atPath: scratch.storePath)
            #expect(try scratch.store().isAsClosed)
        }
    }

    @Test("A store under another name is known there, in place of the one that had it")
    func renamed() throws {
        try withScratch { scratch in
            try closed(scratch)
            try withScratch { other in
                let store = try other.store()
                try store.close()
                try Store.rename(scratch.storePath, to: other.storePath)
                let renamed = try other.store()
                #expect(renamed.isAsClosed)
                #expect(try renamed.restored().liveStates.count == 500)
                #expect(throws: StoreError.self) { try Store.rename(scratch.storePath, to: other.storePath) }
            }
        }
    }

    @Test("Where a forgotten device had been stood in old pages of the log and of the database")
    func forgotten() throws {
        try withScratch { scratch in
            let store = try scratch.store()
            let secret = Array("latitude-43.730123".utf8)
            // Longer than a page, too, so that pages come free.
            for payload in [secret, secret + [UInt8](repeating: 7, count: 9000), secret] {
                try store.commit((0..<50).map { Self.live($0, payload) })
            }
            func has(_ suffix: String) throws -> Bool { try scratch.bytes(suffix).firstRange(of: Data(secret)) != nil }
            #expect(try has("-wal"))
            try store.commit([.forgetDevice(dataset: "city", id: "phone")] + (0..<50).map { Self.live($0, []) })
            #expect(try !has("-wal") && !has(""))
            // Beside a reader the log stays, until the next commit.
            try store.commit((0..<50).map { Self.live($0, secret) })
            try store.read { db in
                _ = try db.rows("SELECT count(*) FROM liveState") { _ in }
                try? store.commit([.forgetDevice(dataset: "city", id: "phone")] + (0..<50).map { Self.live($0, []) })
            }
            try store.commit([Self.live(51, [1])])
            #expect(try !has("-wal") && !has(""))
            try store.close()
        }
    }
}
