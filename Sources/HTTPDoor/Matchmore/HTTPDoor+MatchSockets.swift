import Datasets
import LiveTopics
import Wire

// Ids of matches to the sockets of old clients, on the core's thread.

extension HTTPDoor {
    /// What is known of the device of a socket that may be opened.
    func openable(_ target: MatchSocketTarget) throws(WireError) -> DeviceSummary {
        let summary = try core.hub.summary(
            ofDevice: target.device.id, of: target.device.world, for: target.caller?.client, at: core.clock.now())
        guard let summary else { throw WireError(.internal, "the dataset takes nothing in at present: try again") }
        if let refusal = target.pageRefusal, !callers.haveKey(of: summary.owner, for: target.device.world) { throw refusal }
        guard matchSockets.of(target.device).count < MatchSockets.perDeviceMax else {
            throw WireError(.limit, "the device has \(MatchSockets.perDeviceMax) sockets, the maximum")
        }
        return summary
    }

    /// Opens a socket: first comes what waited, oldest first.
    func open(_ stream: EventStream, for target: MatchSocketTarget) {
        guard !stream.isEnded else { return }
        guard let summary = try? openable(target) else { return stream.end(.notAllowed) }
        let heard = matchSockets.heard(target.device)
        let waits = summary.newestMatch.map { $0 > heard?.number ?? 0 } ?? false
        let client = target.caller?.client ?? summary.owner ?? "http"
        let socket = MatchSocket(target.device, stream, client: client, newest: waits ? summary.newestMatch : nil)
        matchSockets.add(socket)
        if waits { readWaiting(of: socket, behind: heard?.id) }
    }

    private func readWaiting(of socket: MatchSocket, behind id: String?) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("deviceId", socket.device.id)
        writer.member("after", optional: id)
        writer.endObject()
        let request = APIRequest(
            dataset: socket.device.world, client: socket.client, name: "match/list", body: writer.bytes)
        send(request, for: .matchSocket(socket, behind: id))
    }

    /// What waited was read, or a part of it.
    func received(_ reply: [UInt8], for socket: MatchSocket, behind id: String?) {
        guard !socket.stream.isEnded else { return }
        let object = (try? JSONValue.parse(reply))?.asObject
        guard let result = object?["result"]?.asObject else {
            // The last match that was heard of is kept no longer, nor is any before it.
            if id != nil, object?["error"]?.asObject?["error"] == "notFound" { return readWaiting(of: socket, behind: nil) }
            return socket.stream.end(.tooSlow)
        }
        let matches = (result["matches"]?.asArray ?? []).compactMap(\.asObject)
        let next = result["next"]?.asString
        socket.tellWaiting(matches.filter { $0["event"] != "ended" }.compactMap { $0["id"]?.asString }, isLast: next == nil)
        if let next { readWaiting(of: socket, behind: next) }
    }

    /// A match, or the end of a visit, which the old clients do not know.
    func tellMatchSockets(_ recipient: Recipient, _ payload: [UInt8], number: Int64) {
        let levels = recipient.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard levels.count == 3, levels[0].elementsEqual("match".utf8), let id = LevelCoding.decode(levels[1]),
            let match = Self.matchID(payload)
        else { return }
        let device = MatchSockets.Device(world: recipient.dataset, id: id)
        for socket in matchSockets.of(device) { socket.tell(match, number: number) }
    }

    /// A message begins with `{"id":"…","event":"matched"`.
    private static func matchID(_ payload: [UInt8]) -> String? {
        let start = Array("{\"id\":\"".utf8)
        guard payload.starts(with: start) else { return nil }
        let id = payload[start.count...].prefix { $0 != UInt8(ascii: "\"") }
        guard payload[id.endIndex...].starts(with: "\",\"event\":\"matched\"".utf8) else { return nil }
        return String(decoding: id, as: UTF8.self)
    }

    /// Has it kept how far devices have heard.
    ///
    /// - Parameter isLast: It is waited for.
    func keepHeard(isLast: Bool = false) {
        guard let heardFile, let entries = matchSockets.takeHeard(at: core.clock.monotonic()) else { return }
        heardFile.write(entries)
        if isLast { heardFile.flush() }
    }

    /// A socket is gone.
    ///
    /// - Parameter last: The last match that was written to it.
    func close(_ stream: EventStream, of device: MatchSockets.Device, last: StreamMessage?) {
        stream.end(.gone)
        matchSockets.remove(stream, of: device)
        guard let last else { return }
        let id = String(decoding: last.payload, as: UTF8.self)
        matchSockets.note(MatchSockets.Heard(id: id, number: last.cursor ?? 0), of: device)
    }
}
