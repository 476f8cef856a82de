import Foundation
import Testing
import Wire

extension Integration {
    /// Recorded drives through a real broker, against a computation of our own over the same file.
    @Suite("A day of drives through a city")
    struct MainJob {
        /// What a track publishes about itself.
        private struct Vehicle {
            var kind: String
            var seats: Int
            var line: String
            var range: Double

            init(_ index: Int) {
                kind = index.isMultiple(of: 2) ? "bus" : "car"
                seats = index * 7 % 50
                line = "L\(index % 7)"
                range = Double(20 + index * 13 % 80)
            }

            var properties: JSONValue { ["kind": .string(kind), "seats": .integer(Int64(seats)), "line": .string(line)] }
        }

        /// Selectors beside the same question in Swift.
        private static let questions: [(selector: String, isAnswered: @Sendable (Vehicle) -> Bool)] = [
            ("", { _ in true }),
            ("kind = 'bus'", { $0.kind == "bus" }),
            ("seats > 20 AND line IN ('L1', 'L3', 'L5')", { $0.seats > 20 && ["L1", "L3", "L5"].contains($0.line) }),
            ("seats BETWEEN 10 AND 30 OR kind = 'car'", { (10...30).contains($0.seats) || $0.kind == "car" }),
            ("missing IS NULL", { _ in true }),
            ("missing > 3", { _ in false }),
            ("line LIKE 'L_' AND NOT (seats < 25)", { $0.seats >= 25 }),
            ("seats * 2 >= 60 OR line <> 'L2'", { $0.seats >= 30 || $0.line != "L2" }),
        ]

        private struct Pin {
            var id: String
            var latitude: Double
            var longitude: Double
            var range: Double
            var question: Int
        }

        /// Who met whom, and how far apart they were each time, in order.
        private typealias Meetings = [String: [Double]]

        private static func pins(_ trace: Trace) -> [Pin] {
            (0..<50).map { index in
                let point = trace.points[(index * 7919 + 311) % trace.points.count]
                return Pin(
                    id: "pin-\(index)", latitude: point.latitude + 0.0004 * Double(index % 5 - 2),
                    longitude: point.longitude + 0.0003 * Double(index % 7 - 3), range: Double(40 + index * 37 % 900),
                    question: index % questions.count)
            }
        }

        /// The contract's words as a double loop.
        ///
        /// - Parameter far: How far a track must have come since a match for the next one; nil for never.
        /// - Returns: Also how near any decision came to its limit, in metres.
        private static func compute(
            _ trace: Trace, _ pins: [Pin], far: (Pin) -> Double?
        ) -> (meetings: Meetings, margin: Double) {
            let vehicles = Dictionary(uniqueKeysWithValues: trace.devices.enumerated().map { ($1, Vehicle($0)) })
            var meetings: Meetings = [:]
            var margin = Double.infinity
            for pin in pins {
                var lastMatch: [String: Trace.Point] = [:]
                for point in trace.points {
                    // Degrees are enough to see that it is far beyond any range.
                    guard abs(point.latitude - pin.latitude) < 0.02, abs(point.longitude - pin.longitude) < 0.02,
                        let vehicle = vehicles[point.device], questions[pin.question].isAnswered(vehicle)
                    else { continue }
                    let distance = vincentyDistance((point.latitude, point.longitude), (pin.latitude, pin.longitude))
                    let limit = vehicle.range + pin.range
                    if let last = lastMatch[point.device] {
                        guard let far = far(pin) else { continue }
                        let way = vincentyDistance((point.latitude, point.longitude), (last.latitude, last.longitude))
                        if distance <= limit { margin = min(margin, abs(way - far)) }
                        guard way >= far else { continue }
                    }
                    margin = min(margin, abs(distance - limit))
                    guard distance <= limit else { continue }
                    lastMatch[point.device] = point
                    meetings["\(point.device) \(pin.id)", default: []].append(distance)
                }
            }
            return (meetings, margin)
        }

        private func createObjects(_ trace: Trace, _ pins: [Pin], _ client: Client) {
            var round = 0
            func create(_ resource: String, _ items: [JSONValue]) {
                round += 1
                for (index, item) in items.enumerated() { client.send("\(resource)/create", item, id: "\(round)-\(index)") }
                for index in items.indices {
                    #expect(client.reply(to: "\(round)-\(index)")?["result"] != nil)
                }
            }
            create("device", trace.devices.map { ["deviceType": "MobileDevice", "id": .string($0)] })
            create(
                "publication",
                trace.devices.enumerated().map { index, id in
                    let vehicle = Vehicle(index)
                    return [
                        "deviceId": .string(id), "topic": "traffic", "range": .double(vehicle.range), "duration": 1_000_000,
                        "properties": vehicle.properties,
                    ]
                })
            create(
                "device",
                pins.map {
                    [
                        "deviceType": "PinDevice", "id": .string($0.id),
                        "location": ["latitude": .double($0.latitude), "longitude": .double($0.longitude)],
                    ]
                })
            for (kind, options) in [("pair", ["matchDTL": 1_000_000_000]), ("way", [:])] as [(String, JSONObject)] {
                create(
                    "subscription",
                    pins.map { pin in
                        var subscription = options
                        subscription["id"] = .string("\(kind) \(pin.id)")
                        subscription["deviceId"] = .string(pin.id)
                        subscription["topic"] = "traffic"
                        subscription["range"] = .double(pin.range)
                        subscription["duration"] = 1_000_000
                        subscription["selector"] = .string(Self.questions[pin.question].selector)
                        return .object(subscription)
                    })
            }
        }

        /// As fast as the daemon takes it: never more on the way than a broker keeps at QoS 0.
        private func replay(_ trace: Trace, _ publisher: Client, _ watcher: Client) {
            let window = 1000
            for (index, point) in trace.points.enumerated() {
                if index.isMultiple(of: window / 2), index >= window {
                    #expect(watcher.wait { $0.count >= index - window / 2 }, "positions got lost before point \(index)")
                }
                publisher.publish(
                    "d/-/-/-/-/\(point.device)/position",
                    "{\"latitude\":\(point.latitude),\"longitude\":\(point.longitude),\"time\":\"\(point.time)\"}")
            }
            #expect(watcher.wait { $0.count >= trace.points.count }, "positions got lost")
        }

        private func meetings(_ kind: String, in messages: [Message]) -> Meetings {
            var meetings: Meetings = [:]
            for message in messages {
                let match = message.json
                guard let subscription = match["subscription"]?["id"]?.asString, subscription.hasPrefix(kind + " "),
                    let device = match["publication"]?["deviceId"]?.asString, let distance = match["distance"]?.asDouble
                else { continue }
                meetings["\(device) \(subscription.dropFirst(kind.count + 1))", default: []].append(distance)
            }
            return meetings
        }

        private func expectSame(_ kind: String, _ seen: Meetings, _ computed: Meetings) {
            #expect(Set(seen.keys) == Set(computed.keys), "\(kind): other pairs")
            for (pair, distances) in computed {
                let found = seen[pair] ?? []
                #expect(found.count == distances.count, "\(kind) \(pair): \(found) instead of \(distances)")
                for (a, b) in zip(found, distances) { #expect(abs(a - b) <= 0.01, "\(kind) \(pair)") }
            }
        }

        @Test("The matches a subscriber sees are those a double loop over the same file finds, once each, within a centimetre")
        func replay() throws {
            let trace = try Trace()
            let pins = Self.pins(trace)
            let once = Self.compute(trace, pins) { _ in nil }
            let again = Self.compute(trace, pins) { 2 * $0.range }
            // Nearer than 2 cm the contract leaves the decision open, and the comparison would say nothing.
            try #require(min(once.margin, again.margin) > 0.02)
            try #require(once.meetings.count > 200 && again.meetings.values.count { $0.count > 1 } > 20)
            let total = (Array(once.meetings.values) + again.meetings.values).reduce(0) { $0 + $1.count }
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"]) { client in
                    createObjects(trace, pins, client)
                    client.forgetMessages()
                    try withClient(daemon.endpoint, name: "watcher", filters: ["live/#"], qos: 0, readsReplies: false) {
                        watcher in
                        #expect(watcher.wait { $0.count == pins.count }, "the pins' own positions are retained")
                        watcher.forgetMessages()
                        try withClient(daemon.endpoint, name: "cars", readsReplies: false) { replay(trace, $0, watcher) }
                        let last = Dictionary(watcher.messages.map { ($0.topic, $0) }) { $1 }
                        #expect(last.count == trace.devices.count)
                    }
                    #expect(client.wait { $0.count >= total })
                    try checkCounters(pins, client, total: total)
                    let seen = client.messages.filter { $0.topic.contains("/match/") }
                    #expect(Set(seen.compactMap { $0.json["id"]?.asString }).count == total)
                    expectSame("pair", meetings("pair", in: seen), once.meetings)
                    expectSame("way", meetings("way", in: seen), again.meetings)
                }
            }
        }

        /// The daemon counts what was seen: nothing is still to come.
        private func checkCounters(_ pins: [Pin], _ client: Client, total: Int) throws {
            var matched = 0
            for pin in pins {
                for kind in ["pair", "way"] {
                    let subscription = try client.request("subscription/get", ["id": .string("\(kind) \(pin.id)")])
                    matched += Int(subscription["delivery"]?["matched"]?.asInt64 ?? -1)
                }
            }
            #expect(matched == total)
        }
    }
}
