import Geodesy
import Places

/// How fast places go into a table and are found in it, and what memory they take.
struct PlacesMeasurement {
    var places: Int
    /// Places in a square kilometre.
    var density: Double

    func measure(into report: inout Report) throws {
        var random = SplitMix64(seed: 6)
        let maker = PlaceMaker(places: places, density: density, &random)
        let towns = maker.towns
        let note = "\(places) places, \(Int(density)) in a square kilometre"
        let before = residentBytes()
        let table = PlaceTable()
        var elapsed = 0.0
        var number = 0
        while number < places {
            // Made apart from the time that counts.
            let chunk = (number..<min(places, number + 50_000)).map { maker.place($0, &random) }
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
        func positions(_ count: Int, in towns: [PlaceMaker.Town]) -> [(latitude: Double, longitude: Double)] {
            (0..<count).map { _ in towns[Int.random(in: towns.indices, using: &random)].position(&random) }
        }
        near(table, positions(2_000_000, in: [towns[0]]), 50, "in one town", note, into: &report)
        for (radius, count) in [(50.0, 2_000_000), (250, 200_000), (5000, 500)] {
            near(table, positions(count, in: towns), radius, "in all towns", note, into: &report)
        }
        at(table, positions(2_000_000, in: [towns[0]]), "in one town", note, into: &report)
        at(table, positions(500_000, in: towns), "in all towns", note, into: &report)
        lists(table, note, into: &report)
        try replace(table, maker, note, &random, into: &report)
    }

    /// The same questions about a real town.
    func measure(_ file: TownFile, into report: inout Report) throws {
        var random = SplitMix64(seed: 6)
        let table = PlaceTable()
        for place in file.places { try table.upsert(place) }
        let outlines = (0..<table.handlesEnd).count { table.isPolygon($0) }
        let note = "a real town, \(places) places, \(outlines) of them outlines"
        near(table, (0..<1_000_000).map { _ in file.position(table, &random) }, 50, "in a real town", note, into: &report)
        at(table, (0..<1_000_000).map { _ in file.position(table, &random) }, "in a real town", note, into: &report)
    }

    private func near(
        _ table: PlaceTable, _ positions: [(latitude: Double, longitude: Double)], _ radius: Double, _ where: String,
        _ note: String, into report: inout Report
    ) {
        var hits = 0
        let elapsed = seconds {
            for position in positions {
                table.near(latitude: position.latitude, longitude: position.longitude, radius: radius) { _ in hits += 1 }
            }
        }
        let each = Double(positions.count)
        report.add(
            "places: near \(`where`), \(Int(radius)) m", each / elapsed, "1/s",
            note: "\(note); \(figure(Double(hits) / each)) found each")
    }

    /// What a circumstance asks: the places a device is at, by the rule.
    private func at(
        _ table: PlaceTable, _ positions: [(latitude: Double, longitude: Double)], _ where: String, _ note: String,
        into report: inout Report
    ) {
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
            "places: at \(`where`), with thresholds", each / elapsed, "1/s",
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
        _ table: PlaceTable, _ maker: PlaceMaker, _ note: String, _ random: inout SplitMix64, into report: inout Report
    ) throws {
        let chunk = (0..<200_000).map { _ in maker.place(Int.random(in: 0..<places, using: &random), &random) }
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
