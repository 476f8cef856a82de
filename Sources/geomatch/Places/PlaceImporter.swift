import GeomatchClient
import Wire

/// Imports places in as many requests as it takes, several on their way at a time, and adds up what becomes of them.
///
/// A broker that goes away is waited for; what was on its way is asked again under the same `requestId`, which the daemon carries
/// out once. One task uses it at a time: the guard behind `@unchecked Sendable`.
final class PlaceImporter: @unchecked Sendable {
    private struct Sent {
        var id: String
        var request: PlaceRequests.Request
        var reply: PendingReply
    }

    private var requests: PlaceRequests
    private var progress: ProgressLine
    private let name = "import-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    private var requestCount = 0
    private var placeCount = 0
    private var bytesRead = 0
    private var counted = ImportTally()
    private(set) var categoryCount: Int64 = 0

    /// With the features that never were sent.
    var tally: ImportTally {
        var all = ImportTally()
        all.refuse(requests.unreadable, count: requests.unreadableCount)
        all.add(counted)
        return all
    }
    /// Features that are no place.
    var leftOutCount: Int { requests.leftOutCount }

    /// Requests on their way: the daemon makes those that come together durable together.
    static let windowMax = 6
    /// How long a reply may take, a broker or a daemon that went away and comes back included.
    private static let patience = Duration.seconds(60)
    /// How long a store that cannot be written is left alone.
    private static let storePause = Duration.seconds(2)

    init(_ requests: PlaceRequests, progress: ProgressLine) {
        self.requests = requests
        self.progress = progress
    }

    func run(_ client: GeomatchClient) async throws {
        defer { progress.finish() }
        let startedAt = WallClock.now()
        // In order, the oldest first.
        var sent: [Sent] = []
        var isExhausted = false
        while true {
            while !isExhausted, sent.count < Self.windowMax {
                guard let request = try next() else {
                    isExhausted = true
                    break
                }
                requestCount += 1
                sent.append(ask(request, id: "\(name)-\(requestCount)", client))
            }
            guard let oldest = sent.first else { return }
            let reply = try await reply(to: oldest)
            if reply["error"]?.member("error")?.asString == "internal" {
                StandardError.note("the daemon cannot write its store; trying again")
                try await Task.sleep(for: Self.storePause)
                sent[0] = ask(oldest.request, id: oldest.id, client)
                continue
            }
            sent.removeFirst()
            count(try GeomatchClient.result(in: reply, asJSON: false), of: oldest.request)
            progress.show(bytes: bytesRead, places: placeCount, startedAt: startedAt, now: WallClock.now())
        }
    }

    private func next() throws(CommandFailure) -> PlaceRequests.Request? {
        do throws(FeatureReader.Failure) {
            return try requests.next()
        } catch {
            throw .failed("\(error.reason); \(counted.imported + counted.replaced) places before it were imported")
        }
    }

    private func ask(_ request: PlaceRequests.Request, id: String, _ client: GeomatchClient) -> Sent {
        let payload = Array(#"{"requestId":"\#(id)""#.utf8) + request.parameters + [UInt8(ascii: "}")]
        let timeout = max(Self.patience, client.configuration.requestTimeout)
        return Sent(
            id: id, request: request, reply: client.ask("\(request.resource)/import", id: id, payload, timeout: timeout))
    }

    private func reply(to sent: Sent) async throws -> JSONObject {
        do throws(GeomatchError) {
            return try await sent.reply.get()
        } catch {
            guard error.kind == .timeout else { throw error }
            throw CommandFailure.unavailable("\(error.message); importing again does no harm, and goes on where it ended")
        }
    }

    private func count(_ result: JSONValue, of request: PlaceRequests.Request) {
        let isPlaces = request.resource == "place"
        counted.add(result, isCounted: isPlaces) { PlaceRequests.located($0, in: request) }
        if !isPlaces {
            categoryCount += (result.member("imported")?.asInt64 ?? 0) + (result.member("replaced")?.asInt64 ?? 0)
        }
        bytesRead = max(bytesRead, request.bytesRead)
        placeCount += request.placeCount
    }
}
