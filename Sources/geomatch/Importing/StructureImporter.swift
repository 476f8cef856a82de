import GeomatchClient
import Wire

/// Imports features in as many requests as it takes, one after the other.
struct StructureImporter {
    private let features: [[UInt8]]
    private let batches: [Range<Int>]

    /// Bytes of the features of one request: below the 256 KiB that a request may have, with its frame.
    static let requestBytesMax = 250 << 10

    /// - Parameter features: None larger than a request may be.
    init(features: [[UInt8]]) {
        self.features = features
        batches = Self.batches(of: features.map(\.count))
    }

    /// As many features together as fit into a request.
    static func batches(of sizes: [Int]) -> [Range<Int>] {
        var batches: [Range<Int>] = []
        var start = 0
        var bytes = 0
        for (index, size) in sizes.enumerated() {
            if index > start, bytes + size + 1 > requestBytesMax {
                batches.append(start..<index)
                (start, bytes) = (index, 0)
            }
            bytes += size + 1
        }
        if start < sizes.count { batches.append(start..<sizes.count) }
        return batches
    }

    /// - Parameter isProgressWanted: Also where standard error is no terminal.
    func run(_ client: GeomatchClient, isProgressWanted: Bool = false) async throws -> ImportTally {
        var progress = ProgressLine(total: features.count, isWanted: isProgressWanted)
        defer { progress.finish() }
        let startedAt = WallClock.now()
        var tally = ImportTally()
        for batch in batches {
            tally.add(try GeomatchClient.result(in: try await reply(to: batch, client), asJSON: false))
            progress.show(batch.upperBound, startedAt: startedAt, now: WallClock.now())
        }
        return tally
    }

    private func reply(to batch: Range<Int>, _ client: GeomatchClient) async throws -> JSONObject {
        let id = "import-" + String(UInt64.random(in: 0 ... .max), radix: 16)
        do throws(GeomatchError) {
            return try await client.ask("dataset/import", id: id, payload(of: batch, id: id)).get()
        } catch {
            guard error.kind == .timeout, client.connectionState == .connected else { throw error }
            throw CommandFailure.unavailable("\(error.message); importing again does no harm")
        }
    }

    private func payload(of batch: Range<Int>, id: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("requestId")
        writer.string(id)
        writer.key("structure")
        writer.beginObject()
        writer.key("type")
        writer.string("FeatureCollection")
        writer.key("features")
        writer.beginArray()
        for feature in features[batch] { writer.raw(feature) }
        writer.endArray()
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }
}
