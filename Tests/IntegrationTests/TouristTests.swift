import Foundation
import SeededRandom
import Testing
import Wire

extension Integration {
    /// A day in Monaco: each hour is walked in a time zone of its own, so that the local clock goes round once.
    @Suite("A tourist's day")
    struct Tourist {
        private struct Place {
            var id: String
            var latitude, longitude: Double
            var category: String
            var chain: String?
            /// Hours of the local day between which it is open, at the minute that no walk comes near.
            var open: Range<Int>?
        }

        private static let station = "node/642295507"
        private static let chain = "Q499707"
        private static let cafe = "amenity=cafe"
        private static let museum = "tourism=museum"

        /// What is asked of the daemon, and by hand.
        private static let expressions: [(id: String, text: String, when: String)] = [
            ("open café", "(at (= category-id \"\(cafe)\") is-open)", "arriving"),
            ("closed museum", "(near (= category-id \"\(museum)\") (not is-open))", "arriving"),
            ("late train", "(and (at (= factual-id \"\(station)\")) (>= local-minute-of-day 1080))", "departing"),
            ("chain again", "(and (at (= chain-id \"\(chain)\")) (visited (= chain-id \"\(chain)\")))", "arriving"),
        ]

        /// The walk by the words of the contract: every rule looked at for every position.
        private struct BruteForce {
            let places: [Place]
            private var held: Set<String> = []
            private var visiting: Set<String> = []
            private var visited = false
            private(set) var fired: [String] = []

            init(_ places: [Place]) { self.places = places }

            /// Whether a decision would come so near its limit that it may be either.
            func isDoubtful(_ latitude: Double, _ longitude: Double) -> Bool {
                places.contains { place in
                    guard abs(place.latitude - latitude) < 0.004, abs(place.longitude - longitude) < 0.005 else { return false }
                    let metres = vincentyDistance((latitude, longitude), (place.latitude, place.longitude))
                    return [50, 60, 250, 260].contains { abs(metres - $0) < 0.03 }
                }
            }

            /// - Parameter minute: The minute of each hour at which places open and close.
            mutating func step(_ latitude: Double, _ longitude: Double, hour: Int, minute now: Int, turningAt minute: Int) {
                var near: [(place: Place, metres: Double)] = []
                for place in places
                where abs(place.latitude - latitude) < 0.004 && abs(place.longitude - longitude) < 0.005 {
                    let metres = vincentyDistance((latitude, longitude), (place.latitude, place.longitude))
                    near.append((place, metres))
                }
                visit(near)
                let turned = now >= minute ? hour : hour - 1
                let isOpen = { (place: Place) in place.open?.contains(turned) ?? false }
                func any(_ reach: Double, _ id: String, _ isSuch: (Place) -> Bool) -> Bool {
                    near.contains { $0.metres <= reach + (held.contains(id) ? 10 : 0) && isSuch($0.place) }
                }
                let values = [
                    any(50, "open café") { $0.category == Tourist.cafe && isOpen($0) },
                    any(250, "closed museum") { $0.category == Tourist.museum && !isOpen($0) },
                    any(50, "late train") { $0.id == Tourist.station } && hour >= 18,
                    any(50, "chain again") { $0.chain == Tourist.chain } && visited,
                ]
                for (expression, value) in zip(Tourist.expressions, values) where value != held.contains(expression.id) {
                    if value { held.insert(expression.id) } else { held.remove(expression.id) }
                    if value == (expression.when == "arriving") { fired.append(expression.id) }
                }
            }

            /// A visit is over when the tourist is 10 m farther away than `at` reaches.
            private mutating func visit(_ near: [(place: Place, metres: Double)]) {
                let known = Dictionary(uniqueKeysWithValues: near.map { ($0.place.id, $0.metres) })
                for id in visiting where (known[id] ?? .infinity) > 60 {
                    visiting.remove(id)
                    visited = true
                }
                for (place, metres) in near where place.chain == Tourist.chain && metres <= 50 { visiting.insert(place.id) }
            }
        }

        /// The places the walk is about, as the file has them.
        private static func places(_ file: String, _ random: inout SplitMix64) throws -> [Place] {
            let features = try JSONDecoder().decode(File.self, from: Data(contentsOf: URL(fileURLWithPath: file))).features
            return features.compactMap { feature in
                let category = feature.properties.category
                let isAbout =
                    [cafe, museum].contains(category) || feature.id == station || feature.properties.chain_wikidata == chain
                guard isAbout else { return nil }
                let opening = 7 + random.below(5)
                return Place(
                    id: feature.id, latitude: feature.geometry.coordinates[1], longitude: feature.geometry.coordinates[0],
                    category: category, chain: feature.properties.chain_wikidata,
                    open: [cafe, museum].contains(category) ? opening..<(opening + 4 + random.below(8)) : nil)
            }
        }

        private struct File: Decodable {
            struct Feature: Decodable {
                struct Properties: Decodable {
                    var category: String
                    var chain_wikidata: String?
                }
                struct Geometry: Decodable { var coordinates: [Double] }
                var id: String
                var properties: Properties
                var geometry: Geometry
            }
            var features: [Feature]
        }

        /// From one place to the next, in steps of some metres.
        private static func walk(_ places: [Place], _ random: inout SplitMix64) -> [[(latitude: Double, longitude: Double)]] {
            var here = (latitude: 43.7384, longitude: 7.4245)
            return (0..<24).map { hour in
                var leg = [here]
                for _ in 0..<3 {
                    // The station is left after 18:00 for sure.
                    let wanted = hour == 19 && leg.count == 1 ? places.first { $0.id == station } : nil
                    let goal = wanted ?? random.pick(places)
                    let steps = 4 + Int(vincentyDistance(here, (goal.latitude, goal.longitude)) / 25)
                    let start = here
                    for step in 1...steps {
                        let share = Double(step) / Double(steps)
                        here = (
                            start.latitude + (goal.latitude - start.latitude) * share
                                + Double.random(in: -3e-5...3e-5, using: &random),
                            start.longitude + (goal.longitude - start.longitude) * share
                                + Double.random(in: -3e-5...3e-5, using: &random)
                        )
                        leg.append(here)
                    }
                }
                return leg
            }
        }

        private static func utc() throws -> (hour: Int, minute: Int) {
            let clock = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: Date())
            return (try #require(clock.hour), try #require(clock.minute))
        }

        /// The local hour of the dataset while a leg is walked, by a zone of whole hours.
        private static func zone(_ hour: Int, utcHour: Int) -> String {
            let shift = (hour - utcHour + 36) % 24 - 12
            return shift == 0 ? "Etc/GMT" : "Etc/GMT\(shift > 0 ? "-" : "+")\(abs(shift))"
        }

        @Test("Notifiers fire exactly when a brute-force evaluation of the walk says, seen through a real mosquitto")
        func day() throws {
            var random = SplitMix64.forTest()
            let file = try #require(Bundle.module.url(forResource: "Data/monaco_pois", withExtension: "geojson")).path
            let places = try Self.places(file, &random)
            let legs = Self.walk(places, &random)
            try withDaemon { daemon in
                let program = Bundle.module.bundleURL.deletingLastPathComponent().appendingPathComponent("geomatch").path
                let importing = try Program(
                    program,
                    [
                        "--broker", "mqtt://127.0.0.1:\(daemon.port)", "--dataset", "d", "--client", "alice", "import", "places",
                        "--osm", file,
                    ])
                #expect(importing.waitForExit() == 0, "\(importing.lines)")
                try withClient(
                    daemon.endpoint, filters: ["geomatch/d/alice/circumstance/#", "live/d/-/-/-/-/tourist/position"]
                ) { client in
                    #expect(try client.request("dataset/get")["counts"]?["places"]?.asInt64 ?? 0 > 500)
                    // Half an hour from now nothing opens or closes.
                    let minute = (try Self.utc().minute + 30) % 60
                    try importHours(places, minute: minute, client)
                    for expression in Self.expressions {
                        try client.request(
                            "circumstance/register",
                            [
                                "id": .string(expression.id), "expression": .string(expression.text),
                                "when": .string(expression.when),
                                "tags": ["day"],
                            ])
                    }
                    var course = BruteForce(places)
                    var count = 0
                    var last: (latitude: Double, longitude: Double)?
                    for (hour, leg) in legs.enumerated() {
                        let utc = try Self.utc()
                        try withClient(daemon.endpoint, name: "admin") { admin in
                            _ = try admin.request("dataset/update", ["timeZone": .string(Self.zone(hour, utcHour: utc.hour))])
                        }
                        // First where the tourist still is: by then the new hour has come, however soon the daemon looks.
                        for point in [last].compactMap({ $0 }) + leg where !course.isDoubtful(point.latitude, point.longitude) {
                            last = point
                            course.step(point.latitude, point.longitude, hour: hour, minute: utc.minute, turningAt: minute)
                            client.publish(
                                "d/-/-/-/-/tourist/position", "{\"latitude\":\(point.latitude),\"longitude\":\(point.longitude)}")
                            count += 1
                        }
                        #expect(client.wait { $0.count { $0.topic.hasPrefix("live/") } >= count }, "positions got lost")
                    }
                    let kinds = Set(course.fired)
                    #expect(kinds.count == 4, "the walk is too short: \(kinds.sorted())")
                    #expect(client.wait { Self.incidents($0).count >= course.fired.count })
                    // One more round, so that one too many would be there.
                    try client.request("circumstance/list")
                    let incidents = Self.incidents(client.messages)
                    #expect(incidents.map { $0["circumstanceId"]?.asString ?? "" } == course.fired)
                    #expect(Set(incidents.compactMap { $0["incidentId"]?.asString }).count == incidents.count)
                    #expect(incidents.allSatisfy { $0["deviceId"] == "tourist" && $0["tags"] == ["day"] })
                }
            }
        }

        private func importHours(_ places: [Place], minute: Int, _ client: Client) throws {
            func clock(_ hour: Int) -> String { "\(hour < 10 ? "0" : "")\(hour):\(minute < 10 ? "0" : "")\(minute)" }
            let features: [JSONValue] = places.map { place in
                var properties: JSONObject = ["id": .string(place.id), "categoryIds": [.string(place.category)]]
                properties["chainId"] = place.chain.map { .string($0) }
                if let open = place.open {
                    properties["openingHours"] = .string("\(clock(open.lowerBound))-\(clock(open.upperBound))")
                }
                return [
                    "type": "Feature", "properties": .object(properties),
                    "geometry": ["type": "Point", "coordinates": [.double(place.longitude), .double(place.latitude)]],
                ]
            }
            let result = try client.request(
                "place/import", ["places": ["type": "FeatureCollection", "features": .array(features)]])
            #expect(result["replaced"]?.asInt64 == Int64(places.count) && result["refused"]?.asArray?.isEmpty == true)
        }

        private static func incidents(_ messages: [Message]) -> [JSONValue] {
            messages.filter { $0.topic.hasPrefix("geomatch/d/alice/circumstance/") }.map(\.json)
        }
    }
}
