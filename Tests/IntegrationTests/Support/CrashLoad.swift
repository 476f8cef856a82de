import Foundation
import Testing
import Wire

/// Requests, positions and matches at full speed, and what became of them.
final class CrashLoad: @unchecked Sendable {
    let client: Client
    private let condition = NSCondition()
    private var acknowledgedIDs: [String] = []
    private var firstReplies: [String: String] = [:]
    private var failure: String?
    private var isEnding = false
    private var hasEnded = false

    /// A device has no more than a thousand.
    private static let publicationsPerDevice = 1000
    private static let publicationsMaximum = 20_000

    /// All stand at one place; the first has the subscription.
    private static func publisher(of number: Int) -> String {
        let device = number / publicationsPerDevice
        return device == 0 ? "pin" : "pin-\(device)"
    }

    init(_ client: Client) { self.client = client }

    /// Creates publications one after the other, each asked for again until it is answered; positions in between.
    func start() {
        Thread.detachNewThread { [self] in
            var number = 0
            while condition.withLock({ !isEnding }) {
                number += 1
                client.publish("d/-/-/-/-/walker/position", #"{"lat":\#(48 + Double(number) / 1e5),"lon":2}"#, qos: 0)
                create("p\(number)", on: Self.publisher(of: number))
            }
            condition.withLock {
                hasEnded = true
                condition.broadcast()
            }
        }
    }

    private func create(_ id: String, on device: String) {
        let parameters: JSONValue = [
            "deviceId": .string(device), "topic": "news", "range": 10, "duration": 1_000_000, "id": .string(id),
            "properties": ["n": 1],
        ]
        for _ in 0..<120 {
            client.send("publication/create", parameters, id: "r-" + id)
            guard let reply = client.reply(to: "r-" + id, seconds: 0.5) else { continue }
            condition.withLock {
                if reply["result"]?["id"]?.asString != id { failure = failure ?? reply.line }
                acknowledgedIDs.append(id)
                firstReplies["r-" + id] = reply.line
                condition.broadcast()
            }
            return
        }
        condition.withLock { failure = failure ?? "\(id) was never answered" }
    }

    /// Waits until so many more were acknowledged than now.
    func advance(by count: Int) -> Bool {
        let limit = Date(timeIntervalSinceNow: 60)
        return condition.withLock {
            let goal = acknowledgedIDs.count + count
            while acknowledgedIDs.count < goal { if !condition.wait(until: limit) { return false } }
            return true
        }
    }

    func end() -> (ids: [String], replies: [String: String], failure: String?) {
        let limit = Date(timeIntervalSinceNow: 90)
        return condition.withLock {
            isEnding = true
            while !hasEnded { if !condition.wait(until: limit) { break } }
            return (acknowledgedIDs, firstReplies, failure)
        }
    }

    // MARK: Before and after

    /// Devices that stand somewhere: those that publish, and the walker.
    static let standing = publicationsMaximum / publicationsPerDevice + 1

    /// A pin with a subscription that meets every publication.
    ///
    /// - Parameter options: Of the subscription, besides.
    static func prepare(_ client: Client, _ options: JSONObject = [:]) throws {
        for number in stride(from: 0, to: publicationsMaximum, by: publicationsPerDevice) {
            try client.request(
                "device/create",
                [
                    "deviceType": "PinDevice", "id": .string(publisher(of: number)),
                    "location": ["latitude": 48, "longitude": 2],
                ])
        }
        try client.request("device/create", ["deviceType": "MobileDevice", "id": "walker"])
        var subscription: JSONObject = [
            "deviceId": "pin", "id": "reader", "topic": "news", "range": 10, "duration": 1_000_000, "selector": "n = 1",
        ]
        for option in options.members { subscription[option.key] = option.value }
        try client.request("subscription/create", .object(subscription))
    }

    /// Every acknowledged publication is there, and met the one subscription under one id.
    ///
    /// - Returns: The id of the match of each publication.
    @discardableResult
    func check(watcher: Client? = nil, seconds: Double = 20) throws -> [String: String] {
        let (ids, replies, failure) = end()
        #expect(failure == nil)
        for id in ids {
            #expect(try client.request("publication/get", ["id": .string(id)])["id"]?.asString == id)
        }
        let addsUp = try eventually(seconds: seconds) {
            let delivery = try client.request("subscription/get", ["id": "reader"])["delivery"]
            return delivery?["matched"]?.asInt64 == Int64(ids.count) && delivery?["delivered"]?.asInt64 == Int64(ids.count)
                && delivery?["pending"]?.asInt64 == 0 && delivery?["dropped"]?.asInt64 == 0
        }
        let subscription = try client.request("subscription/get", ["id": "reader"]).line
        #expect(addsUp, "\(subscription) for \(ids.count) matches")
        let topic = "geomatch/d/alice/match/pin/reader"
        func isMatch(_ message: Message) -> Bool { message.topic == topic }
        let early = watcher?.messages.filter(isMatch) ?? []
        if watcher == nil { #expect(client.wait { $0.count(where: isMatch) >= ids.count }) }
        var matches: [String: Set<String>] = [:]
        for message in early + client.messages(on: topic) {
            let match = message.json
            let publication = try #require(match["publication"]?["id"]?.asString)
            matches[publication, default: []].insert(try #require(match["id"]?.asString))
        }
        let missing = Set(ids).subtracting(matches.keys)
        #expect(missing.isEmpty, "matches are missing")
        let ambiguous = matches.filter { $0.value.count > 1 }
        #expect(ambiguous.isEmpty, "a meeting has one id")
        let listed = try #require(try client.request("match/list", ["deviceId": "pin"])["matches"]?.asArray)
        #expect(listed.compactMap { $0["publication"]?["id"]?.asString } == Array(ids.suffix(100)))
        // A request asked again has no second effect and gets its first reply.
        for id in ids.suffix(5) {
            let again = try repeated("r-" + id)
            #expect(again == replies["r-" + id])
        }
        return matches.compactMapValues(\.first)
    }

    private func repeated(_ requestID: String) throws -> String? {
        client.forgetMessages()
        client.send("publication/create", ["deviceId": "nobody"], id: requestID)
        return try client.first(on: "geomatch/d/alice/reply") { $0.json["requestId"]?.asString == requestID }.json.line
    }
}
