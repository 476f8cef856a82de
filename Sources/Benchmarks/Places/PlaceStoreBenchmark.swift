import ArgumentParser
import Datasets
import Foundation
import Places
import Store
import Records

/// Places on the disk: written as an import writes them, taken back as the daemon does at its start, deleted with their dataset.
struct PlaceStoreBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "places-store",
        abstract: "Measures how fast places are stored, loaded at a start, and deleted.",
        discussion: """
            The places are those of `places`. They are written to a new store in a temporary folder, in synced transactions as \
            large as those of an import; the store is opened anew and given back to a hub, as the daemon does at its start; at last \
            the dataset is deleted. No broker, no requests. The folder is removed afterwards: it takes 320 bytes a place.
            """)

    @Option(help: "Places in the store.")
    var count = 10_000_000

    @Option(help: "Places in a square kilometre of a town.")
    var density = 1000.0

    @Option(help: "Places in a transaction: an import has about a thousand in each request, several on their way.")
    var batch = 4000

    @Flag(name: .customLong("random-ids"), help: "Ids in an order that has nothing to do with that of the places.")
    var randomIDs = false

    @Option(help: ArgumentHelp("Keep the store in this folder; one that is there is loaded as it is.", valueName: "FOLDER"))
    var keep: String?

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    func validate() throws {
        guard (1...20_000_000).contains(count) else { throw ValidationError("--count must be 1 to 20,000,000") }
        guard density > 0 else { throw ValidationError("--density must be above 0") }
        guard (1...100_000).contains(batch) else { throw ValidationError("--batch must be 1 to 100,000") }
    }

    func run() throws {
        let folder = keep ?? NSTemporaryDirectory() + "/geomatch-bench-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { if keep == nil { try? FileManager.default.removeItem(atPath: folder) } }
        var report = Report()
        let path = folder + "/geomatch.sqlite"
        if !FileManager.default.fileExists(atPath: path) { try write(to: path, into: &report) }
        try load(path, into: &report)
        print(json ? report.json : report.table)
    }

    private var note: String { "\(count) places, ids \(randomIDs ? "in no order" : "in order")" }

    private func write(to path: String, into report: inout Report) throws {
        let store = try Store(path: path)
        try store.commit([.put(DatasetRecord(id: Self.dataset, createdAt: 1, updatedAt: 1, revision: "1-a"))])
        var random = SplitMix64(seed: 6)
        let maker = PlaceMaker(places: count, density: density, &random)
        var elapsed = 0.0
        var first = 0
        while first < count {
            let changes = (first..<min(count, first + batch)).map { number -> DurableChange in
                .put(PlaceRecord(dataset: Self.dataset, place: place(number, maker, &random)))
            }
            elapsed += try Self.seconds { try store.commit(changes) }
            first += batch
        }
        report.add("places-store: written, durable", Double(count) / elapsed, "1/s", note: note)
        let closing = try Self.seconds { try store.close() }
        let bytes = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        report.add(
            "places-store: on the disk", Double(bytes) / Double(count), "B", note: "\(note); closed in \(figure(closing)) s")
    }

    private static let dataset = "world"

    /// As an import leaves it: with an owner and a revision.
    private func place(_ number: Int, _ maker: PlaceMaker, _ random: inout SplitMix64) -> Place {
        var place = maker.place(number, &random)
        if randomIDs { place.id = "node/" + String(random.next(), radix: 16) + String(number, radix: 16) }
        place.owner = "importer"
        place.revision = "1-" + String(random.next() | 1 << 63, radix: 16) + String(random.next() | 1 << 63, radix: 16)
        return place
    }

    private func load(_ path: String, into report: inout Report) throws {
        let before = residentBytes()
        let hub = Hub(HubConfiguration())
        var store: Store?
        var textBytes = 0
        let elapsed = try Self.seconds {
            let opened = try Store(path: path)
            try opened.restore { change in
                if case .put(let record as PlaceRecord) = change {
                    let place = record.place
                    textBytes += place.id.utf8.count + (place.name ?? "").utf8.count + (place.revision ?? "").utf8.count
                }
                try hub.restore(change, at: 1)
            }
            hub.endRestoration(liveNumber: try opened.highestLiveNumber, matchNumber: try opened.highestMatchNumber)
            store = opened
        }
        let resident = Double(residentBytes() - before) / Double(count)
        let texts = Double(textBytes) / Double(count)
        report.add(
            "places-store: loaded at a start", elapsed, "s", note: "\(note); \(figure(Double(count) / elapsed / 1000)) k/s")
        report.add("places-store: resident", resident, "B", note: "\(note); all of the process, a place")
        report.add("places-store: their ids, names and revisions", texts, "B", note: note)
        report.add("places-store: beyond these", resident - texts, "B", note: "\(note); outlines too")
        guard let store, keep == nil else { return }
        try delete(from: store, into: &report)
        withExtendedLifetime(hub) {}
    }

    private func delete(from store: Store, into report: inout Report) throws {
        let marked = try Self.seconds { try store.commit([.deleteDataset(id: Self.dataset, at: 2)]) }
        report.add("places-store: deleted for whoever asks", marked * 1000, "ms", note: note)
        var longest = 0.0
        var pieces = 0
        let all = try Self.seconds {
            var hasMore = true
            while hasMore {
                longest = max(longest, try Self.seconds { hasMore = try store.purgeSome() })
                pieces += 1
            }
        }
        report.add(
            "places-store: gone from the disk", all, "s",
            note: "\(note); \(pieces) pieces, the longest \(figure(longest * 1000)) ms")
    }

    /// By the clock on the wall: disks are waited for.
    private static func seconds(_ work: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let duration = try clock.measure(work)
        return Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }
}
