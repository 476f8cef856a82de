import Foundation
import Testing
import Wire

extension Integration {
    /// Buses and cars that all publish and subscribe at once while they move, against a double loop of our own.
    @Suite("Drives that meet each other")
    struct Visits {
        private struct Vehicle {
            var id: String
            var publicationRange: Double
            var subscriptionRange: Double
            var seats: Int
            var selector: String
            var subscribes: Bool

            init(_ id: String, _ index: Int) {
                self.id = id
                publicationRange = Double(20 + index * 13 % 80)
                subscriptionRange = Double(31 + index * 29 % 60)
                seats = index * 7 % 50
                selector = index.isMultiple(of: 4) ? "seats > 20" : ""
                subscribes = id.hasPrefix("bus") || index.isMultiple(of: 6)
            }

            func wants(_ other: Vehicle) -> Bool { selector.isEmpty || other.seats > 20 }
        }

        private static let exitMargin = 25.0

        private struct Event: Equatable {
            var isBegin: Bool
            var distance: Double
        }

        private struct Pair: Hashable {
            var publisher: String
            var subscriber: String
        }

        private typealias Place = (latitude: Double, longitude: Double)

        /// What the contract's words make of the drives.
        private struct Course {
            var events: [Pair: [Event]] = [:]
            /// How near any decision came to its limit, in metres.
            var margin = Double.infinity
            var places: [String: Place] = [:]

            init(_ points: [Trace.Point], _ vehicles: [String: Vehicle]) {
                var underWay: Set<Pair> = []
                for point in points {
                    guard let mover = vehicles[point.device] else { continue }
                    let here = (point.latitude, point.longitude)
                    places[mover.id] = here
                    for (id, there) in places where id != mover.id {
                        guard let other = vehicles[id] else { continue }
                        for (publisher, subscriber) in [(mover, other), (other, mover)] {
                            decide(publisher, subscriber, here, there, &underWay)
                        }
                    }
                }
            }

            private mutating func decide(
                _ publisher: Vehicle, _ subscriber: Vehicle, _ here: Place, _ there: Place, _ underWay: inout Set<Pair>
            ) {
                guard subscriber.subscribes, subscriber.wants(publisher) else { return }
                let pair = Pair(publisher: publisher.id, subscriber: subscriber.id)
                let isUnderWay = underWay.contains(pair)
                // Degrees are enough to see that it is far beyond any range.
                let isNear = abs(here.latitude - there.latitude) < 0.005 && abs(here.longitude - there.longitude) < 0.01
                guard isUnderWay || isNear else { return }
                let distance = vincentyDistance(here, there)
                let limit = publisher.publicationRange + subscriber.subscriptionRange + (isUnderWay ? exitMargin : 0)
                margin = min(margin, abs(distance - limit))
                guard isUnderWay != (distance <= limit) else { return }
                if isUnderWay { underWay.remove(pair) } else { underWay.insert(pair) }
                events[pair, default: []].append(Event(isBegin: !isUnderWay, distance: distance))
            }
        }

        /// Both files as if all had set out at once.
        private static func points() throws -> [Trace.Point] {
            var dated: [(seconds: Double, point: Trace.Point)] = []
            for name in ["go_track", "liverpool_bus"] {
                var starts: [String: Date] = [:]
                for point in try Trace(name).points {
                    let time = try Date(point.time, strategy: .iso8601)
                    let start = starts[point.device] ?? time
                    starts[point.device] = start
                    dated.append((time.timeIntervalSince(start), point))
                }
            }
            return dated.enumerated().sorted { ($0.element.seconds, $0.offset) < ($1.element.seconds, $1.offset) }.map(
                \.element.point)
        }

        /// Whole fleets in three requests.
        private func create(_ vehicles: [Vehicle], _ client: Client) throws {
            func create(_ resource: String, _ items: [JSONValue]) throws {
                let result = try client.request("\(resource)/create", ["items": .array(items)])
                let made = result["items"]?.asArray ?? []
                #expect(made.count == items.count && made.allSatisfy { $0["id"] != nil })
            }
            try create("device", vehicles.map { ["deviceType": "MobileDevice", "id": .string($0.id)] })
            try create(
                "publication",
                vehicles.map {
                    [
                        "id": .string("pub \($0.id)"), "deviceId": .string($0.id), "topic": "traffic",
                        "range": .double($0.publicationRange), "duration": 1_000_000,
                        "properties": ["seats": .integer(Int64($0.seats))],
                    ]
                })
            try create(
                "subscription",
                vehicles.filter(\.subscribes).map {
                    [
                        "id": .string("sub \($0.id)"), "deviceId": .string($0.id), "topic": "traffic",
                        "range": .double($0.subscriptionRange), "duration": 1_000_000, "mode": "visit",
                        "exitMargin": .double(Self.exitMargin), "excludeSelf": true, "selector": .string($0.selector),
                    ]
                })
        }

        /// As fast as the daemon takes it: never more on the way than a broker keeps at QoS 0.
        private func replay(_ points: [Trace.Point], _ publisher: Client, _ watcher: Client) {
            let window = 1000
            for (index, point) in points.enumerated() {
                if index.isMultiple(of: window / 2), index >= window {
                    #expect(watcher.wait { $0.count >= index - window / 2 }, "positions got lost before point \(index)")
                }
                publisher.publish(
                    "d/-/-/-/-/\(point.device)/position", "{\"latitude\":\(point.latitude),\"longitude\":\(point.longitude)}")
            }
            #expect(watcher.wait { $0.count >= points.count }, "positions got lost")
        }

        private func checkEvents(_ messages: [Message], against course: Course) {
            var seen: [Pair: [Event]] = [:]
            var visits: [Pair: String] = [:]
            for message in messages {
                let match = message.json
                guard let publisher = match["publication"]?["deviceId"]?.asString,
                    let subscriber = match["subscription"]?["deviceId"]?.asString, let distance = match["distance"]?.asDouble,
                    let visit = match["visit"]?.asString
                else {
                    Issue.record("no visit: \(message.text)")
                    continue
                }
                let pair = Pair(publisher: publisher, subscriber: subscriber)
                let isBegin = match["event"] == "matched"
                seen[pair, default: []].append(Event(isBegin: isBegin, distance: distance))
                if isBegin {
                    #expect(match["id"]?.asString == visit)
                    visits[pair] = visit
                } else {
                    #expect(match["event"] == "ended" && match["reason"] == "left" && visits[pair] == visit)
                }
            }
            #expect(Set(seen.keys) == Set(course.events.keys), "other pairs")
            for (pair, events) in course.events {
                let found = seen[pair] ?? []
                #expect(found.map(\.isBegin) == events.map(\.isBegin), "\(pair)")
                for (a, b) in zip(found, events) { #expect(abs(a.distance - b.distance) <= 0.01, "\(pair)") }
            }
        }

        /// Asks of pairs that never met why they did not.
        private func checkExplanations(_ course: Course, _ vehicles: [Vehicle], _ client: Client) throws {
            func explain(_ publisher: Vehicle, _ subscriber: Vehicle) throws -> (failing: [String], details: [String: String]) {
                let result = try client.request(
                    "match/explain",
                    ["publicationId": .string("pub \(publisher.id)"), "subscriptionId": .string("sub \(subscriber.id)")])
                let checks = result["checks"]?.asArray ?? []
                #expect(checks.count == 7 && result["matches"] == false)
                let failing = checks.filter { $0["pass"] == false }.compactMap { $0["check"]?.asString }
                let details = checks.map { ($0["check"]?.asString ?? "", $0["detail"]?.asString ?? "") }
                return (failing, Dictionary(uniqueKeysWithValues: details))
            }
            let buses = vehicles.filter { $0.id.hasPrefix("bus") }
            let car = try #require(vehicles.first { $0.id == "track-1" })
            let bus = try #require(buses.first { $0.selector.isEmpty })
            let far = try explain(car, bus)
            #expect(far.failing == ["range"])
            let places = (try #require(course.places[car.id]), try #require(course.places[bus.id]))
            let reported = far.details["range"].flatMap { Double($0.dropFirst("distance ".count).prefix { $0 != " " }) }
            #expect(abs((reported ?? 0) - vincentyDistance(places.0, places.1)) < 0.1)

            let picky = try #require(buses.first { !$0.selector.isEmpty })
            let small = try #require(vehicles.first { $0.seats <= 20 && $0.id != picky.id })
            let refused = try explain(small, picky)
            #expect(refused.failing.contains("selector"))
            #expect(refused.details["selector"] == "seats \(small.seats) > 20 is false")
        }

        @Test("Begins and ends are those a double loop over the same files finds, and a pair that did not match is explained")
        func replay() throws {
            let points = try Self.points()
            let ids = Set(points.map(\.device)).sorted()
            let vehicles = ids.enumerated().map { Vehicle($1, $0) }
            let course = Course(points, Dictionary(uniqueKeysWithValues: vehicles.map { ($0.id, $0) }))
            // Nearer than 2 cm the contract leaves the decision open, and the comparison would say nothing.
            try #require(course.margin > 0.02)
            let total = course.events.values.reduce(0) { $0 + $1.count }
            let ends = course.events.values.reduce(0) { $0 + $1.count { !$0.isBegin } }
            try #require(total > 500 && ends > 200)
            try withDaemon { daemon in
                try withClient(daemon.endpoint, filters: ["geomatch/d/alice/match/#"]) { client in
                    try create(vehicles, client)
                    try withClient(daemon.endpoint, name: "watcher", filters: ["live/#"], qos: 0, readsReplies: false) {
                        watcher in
                        try withClient(daemon.endpoint, name: "cars", readsReplies: false) { replay(points, $0, watcher) }
                    }
                    let isMatch = { (message: Message) in message.topic.contains("/match/") }
                    #expect(client.wait { $0.count(where: isMatch) >= total })
                    var matched = 0
                    for vehicle in vehicles where vehicle.subscribes {
                        let subscription = try client.request("subscription/get", ["id": .string("sub \(vehicle.id)")])
                        matched += Int(subscription["delivery"]?["matched"]?.asInt64 ?? -1)
                    }
                    #expect(matched == total)
                    checkEvents(client.messages.filter(isMatch), against: course)
                    try checkExplanations(course, vehicles, client)
                }
            }
        }
    }
}
