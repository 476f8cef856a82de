import Circumstances
import Geodesy
import LiveTopics
import Matching
import Places
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Circumstances and places, without a hub")
struct CircumstanceComponentTests {
    private let shared = Shared()
    private let dataset: Dataset
    private let phone: Device
    private var turn = Turn(at: 0, seed: (1, 2))

    private var book: CircumstanceBook { dataset.circumstances }

    init() throws {
        dataset = Dataset(DatasetRecord(id: "d", createdAt: 0, updatedAt: 0, revision: ""), shared)
        phone = dataset.add(
            DeviceRecord(dataset: "d", id: "phone", type: .mobile, owner: nil, createdAt: 0, updatedAt: 0, revision: ""))
        try dataset.places.table.upsert(Place(id: "cafe", geometry: .point(latitude: 43.73, longitude: 7.42)))
    }

    private mutating func register(_ text: String) throws {
        let record = CircumstanceRecord(
            dataset: "d", id: "c", owner: "alice", expression: text, trigger: .arriving, createdAt: 0, updatedAt: 0)
        book.register(record, try CircumstanceExpression(checking: text), [], &turn)
    }

    private mutating func move(_ metres: Double, at now: Int64) {
        turn.now = now
        let position = Position(latitude: 43.73 + metres / 111_100, longitude: 7.42, horizontalAccuracy: 5)
        book.move(phone, LiveUpdate(timestamp: now, position: position), at: now, &turn)
    }

    /// Which kinds were made durable since the last time.
    private mutating func kept() -> [Kind] {
        defer { turn.effects.removeAll() }
        return turn.effects.changes.compactMap(\.kind)
    }

    @Test("An event is made durable and sent where a circumstance becomes true, not before all is restored")
    mutating func events() throws {
        try register(#"(at (= factual-id "cafe"))"#)
        #expect(kept() == [.circumstance] && book.count(of: "alice") == 1)
        book.beginRestoring()
        move(0, at: 1000)
        #expect(kept().isEmpty)
        book.resume(at: 1000)
        move(500, at: 2000)
        _ = kept()
        move(0, at: 60_000)
        #expect(kept().contains(.event) && shared.outbox.pending.count == 1)
    }

    @Test(
        "A place that goes ends what holds there, unless that was about it alone",
        arguments: [("(at any-factual-place)", true), (#"(at (= factual-id "cafe"))"#, false)])
    mutating func places(_ text: String, _ ends: Bool) throws {
        try register(text)
        move(0, at: 1000)
        move(0, at: 60_000)
        _ = kept()
        let places = dataset.places
        try book.changePlace("cafe", &turn) { places.remove("cafe") }
        #expect(places.table.count == 0 && kept().contains(.held) == ends)
        book.unregister(try #require(book["c"]))
        #expect(book.count == 0 && book.count(of: "alice") == 0)
    }
}
