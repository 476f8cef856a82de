import MQTTLink
import Wire

/// Imports features in as many requests as it takes, one after the other, and adds up what becomes of them.
final class StructureImporter: Conversation {
    private let batches: [Range<Int>]
    private let features: [[UInt8]]
    private let run: String
    private var progress: ReplayProgress
    private var next = 0
    private var startedAt: Int64 = 0

    private(set) var imported: Int64 = 0
    private(set) var replaced: Int64 = 0
    private(set) var refused: [JSONValue] = []
    private(set) var warnings: [JSONValue] = []

    /// Bytes of the features of one request: below the 256 KiB that a request may have, with its frame.
    static let requestBytesMax = 250 << 10

    /// - Parameter features: None larger than a request may be.
    init(_ destination: Destination, features: [[UInt8]], progress: ReplayProgress) {
        self.features = features
        batches = Self.batches(of: features.map(\.count))
        run = "import-" + String(UInt64.random(in: 0 ... .max), radix: 16)
        self.progress = progress
        super.init(destination)
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

    override func connected() {
        startedAt = Self.now()
        subscribe([destination.topics.reply], qos: 1)
    }

    override func subscribed() { send() }

    private func send() {
        guard next < batches.count else {
            progress.finish()
            return end(drainSeconds: 1)
        }
        deadline = Self.now() + Int64(destination.timeoutSeconds * 1000)
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("requestId")
        writer.string(requestID)
        writer.key("structure")
        writer.beginObject()
        writer.key("type")
        writer.string("FeatureCollection")
        writer.key("features")
        writer.beginArray()
        for feature in features[batches[next]] { writer.raw(feature) }
        writer.endArray()
        writer.endObject()
        writer.endObject()
        let result = link?.publish(
            topic: destination.topics.request("dataset", "import"), payload: writer.bytes, qos: 1,
            correlation: Array(requestID.utf8))
        guard case .accepted? = result else { return end(.unavailable("the request could not be sent")) }
    }

    private var requestID: String { "\(run)-\(next)" }

    override func acknowledged(token: UInt64, reason: UInt8) {
        guard reason == 0x10 || reason >= 0x80 else { return }
        end(
            .unavailable(
                reason == 0x10
                    ? "nobody takes requests of \(destination.topics.dataset) at this broker; is geomatchd running?"
                    : "the broker refuses the request: its access list must let \"\(destination.topics.client)\" write "
                        + destination.topics.request("dataset", "import")))
    }

    override func received(_ message: InboundMessage) {
        guard !message.retain, case .object(let reply)? = try? JSONValue.parse(message.payload),
            reply["requestId"]?.asString.map({ $0.utf8.elementsEqual(requestID.utf8) }) == true
        else { return }
        guard let result = reply["result"] else {
            progress.finish()
            return end(.errorReply(reply["error"].map(ErrorText.of) ?? "the reply holds neither a result nor an error"))
        }
        imported += result.member("imported")?.asInt64 ?? 0
        replaced += result.member("replaced")?.asInt64 ?? 0
        refused += result.member("refused")?.asArray ?? []
        warnings += result.member("warnings")?.asArray ?? []
        progress.show(batches[next].upperBound, startedAt: startedAt, now: Self.now())
        next += 1
        send()
    }

    override func timedOut() {
        guard startedAt > 0 else { return super.timedOut() }
        progress.finish()
        end(.unavailable("no reply within \(destination.timeoutText); importing again does no harm"))
    }
}
