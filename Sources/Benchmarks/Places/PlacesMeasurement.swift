import Geodesy
import Places

/// How fast places go into a table and are found in it, and what memory they take.
struct PlacesMeasurement {
    var places: Int
    /// Places in a square kilometre.
    var density: Double

    private static let placesOfTown = 20_000

    func measure(into report: inout Report) throws {
        var random = SplitMix64(seed: 6)
        let towns = (0..<max(1, places / Self.placesOfTown)).map { _ in
            Town(
                south: Double.random(in: -55..<65, using: &random), west: Double.random(in: -180..<179, using: &random),
                metres: (Double(Self.placesOfTown) / density).squareRoot() * 1000)
        }
        let note = "\(places) places, \(Int(density)) in a square kilometre"
        let before = residentBytes()
        let table = PlaceTable()
        var elapsed = 0.0
        var number = 0
        while number < places {
            // Made apart from the time that counts.
            let chunk = (number..<min(places, number + 50_000)).map { place($0, in: towns, &random) }
            elapsed += try seconds {
                for place in chunk { try table.upsert(place) }
            }
            number += chunk.count
        }
        report.add("places: put in", Double(places) / elapsed, "1/s", note: note)
        let memory = table.memory
        let each = Double(places)
        report.add(
            "places: memory of one", Double(memory.total - memory.textsAndOutlines) / each, "B",
            note: "\(note); without texts and outlines")
        report.add("places: its texts and outlines", Double(memory.textsAndOutlines) / each, "B", note: note)
        report.add("places: resident", Double(residentBytes() - before) / each, "B", note: "\(note); all of it")
        near(table, [towns[0]], 50, note, &random, into: &report)
        for radius in [50.0, 250, 5000] { near(table, towns, radius, note, &random, into: &report) }
        at(table, towns, note, &random, into: &report)
        lists(table, note, into: &report)
        try replace(table, towns, note, &random, into: &report)
    }

    /// A square of places.
    struct Town {
        var south, west, metres: Double

        func position(_ random: inout SplitMix64) -> (latitude: Double, longitude: Double) {
            let north = south + metres / 111_195
            let latitude = Double.random(in: south..<north, using: &random)
            let wide = metres / 111_195 / Turning.cosine(south)
            return (latitude, west + Double.random(in: 0..<wide, using: &random))
        }
    }

    private func place(_ number: Int, in towns: [Town], _ random: inout SplitMix64) -> Place {
        let point = towns[Int.random(in: towns.indices, using: &random)].position(&random)
        let hasHours = Int.random(in: 0..<8, using: &random) == 0
        return Place(
            id: "node/\(1_000_000_000 + number * 7)", name: "Place \(number)",
            categoryIDs: ["category \(Int.random(in: 0..<500, using: &random))"],
            chainID: Int.random(in: 0..<5, using: &random) == 0 ? "chain \(Int.random(in: 0..<2000, using: &random))" : nil,
            openingHours: hasHours ? "Mo-Fr \(Int.random(in: 0..<5000, using: &random))" : nil, timeZone: "Europe/Berlin",
            placerank: Double(number % 100), geometry: geometry(point, number))
    }

    /// A point, or an octagon of 25 m.
    private func geometry(_ point: (latitude: Double, longitude: Double), _ number: Int) -> PlaceGeometry {
        guard number % 20 == 0 else { return .point(latitude: point.latitude, longitude: point.longitude) }
        let north = 12.5 / 111_195
        let east = north / Turning.cosine(point.latitude)
        let corners = [(1, 0.4), (0.4, 1), (-0.4, 1), (-1, 0.4), (-1, -0.4), (-0.4, -1), (0.4, -1), (1, -0.4), (1, 0.4)]
        let ring = corners.map { corner in
            Area.Polygon.Vertex(longitude: point.longitude + corner.0 * east, latitude: point.latitude + corner.1 * north)
        }
        return (try? PlaceGeometry(polygons: [[ring]])) ?? .point(latitude: point.latitude, longitude: point.longitude)
    }

    private func near(
        _ table: PlaceTable, _ towns: [Town], _ radius: Double, _ note: String, _ random: inout SplitMix64,
        into report: inout Report
    ) {
        let positions = (0..<(radius > 1000 ? 500 : radius > 100 ? 200_000 : 2_000_000)).map { _ in
            towns[Int.random(in: towns.indices, using: &random)].position(&random)
        }
        var hits = 0
        let elapsed = seconds {
            for position in positions {
                table.near(latitude: position.latitude, longitude: position.longitude, radius: radius) { _ in hits += 1 }
            }
        }
        let each = Double(positions.count)
        report.add(
            "places: near\(towns.count == 1 ? " in one town" : ""), \(Int(radius)) m", each / elapsed, "1/s",
            note: "\(note); \(figure(Double(hits) / each)) found each")
    }

    /// What a circumstance asks: the places a device is at, by the rule.
    private func at(
        _ table: PlaceTable, _ towns: [Town], _ note: String, _ random: inout SplitMix64, into report: inout Report
    ) {
        let positions = (0..<500_000).map { _ in towns[Int.random(in: towns.indices, using: &random)].position(&random) }
        var high = 0
        var low = 0
        let elapsed = seconds {
            for position in positions {
                table.near(
                    latitude: position.latitude, longitude: position.longitude, radius: Threshold.reach(accuracy: 10)
                ) { hit in
                    switch table.threshold(hit, accuracy: 10) {
                    case .high: high += 1
                    case .low: low += 1
                    case .none: break
                    }
                }
            }
        }
        let each = Double(positions.count)
        report.add(
            "places: at, with thresholds", each / elapsed, "1/s",
            note: "\(note); \(figure(Double(high) / each)) high and \(figure(Double(low) / each)) low each")
    }

    private func lists(_ table: PlaceTable, _ note: String, into report: inout Report) {
        var next: String?
        var pages = 0
        let elapsed = seconds {
            repeat {
                next = table.page(after: next, limit: 1000).next
                pages += 1
            } while next != nil && pages < 200
        }
        report.add("places: pages of 1000 in order", Double(pages) / elapsed, "1/s", note: note)
        var found = 0
        let filtered = seconds { found = table.page(PlaceFilter(chainID: "chain 7"), limit: 1000).handles.count }
        report.add("places: the first page of a chain", filtered * 1000, "ms", note: "\(note); \(found) places")
    }

    private func replace(
        _ table: PlaceTable, _ towns: [Town], _ note: String, _ random: inout SplitMix64, into report: inout Report
    ) throws {
        let chunk = (0..<200_000).map { _ in place(Int.random(in: 0..<places, using: &random), in: towns, &random) }
        let elapsed = try seconds {
            for place in chunk { try table.upsert(place) }
        }
        report.add("places: replaced, elsewhere", Double(chunk.count) / elapsed, "1/s", note: note)
        let removed = seconds {
            for place in chunk { table.remove(place.id) }
        }
        report.add("places: taken out", Double(chunk.count) / removed, "1/s", note: note)
    }
}
