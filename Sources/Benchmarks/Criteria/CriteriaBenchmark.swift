import ArgumentParser
import LiveTopics

/// The index of criteria alone, on one core.
struct CriteriaBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "criteria",
        abstract: "Measures how fast standing criteria are found by topic.",
        discussion: """
            Criteria over 50 venues of 20 buildings of 10 floors of 50 rooms of 4 locations, in 20 combinations of given and open \
            levels, against topics of the same buildings in random order. A new topic is looked up in full, a seen one \
            remembers.
            """)

    @Option(help: "Standing criteria.")
    var criteria = 1_000_000

    @Option(help: "Topics looked up.")
    var topics = 1_000_000

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    /// Bit 0 is the venue, bit 5 the domain; 1 is given.
    private static let shapes: [UInt8] = [
        0b111111, 0b110000, 0b111000, 0b011111, 0b101000, 0b101100, 0b101111, 0b111100, 0b010000, 0b011000, 0b111110, 0b111101,
        0b111011, 0b101110, 0b101001, 0b011100, 0b011010, 0b110100, 0b011110, 0b110001,
    ]

    func validate() throws {
        guard (1...20_000_000).contains(criteria), (1...20_000_000).contains(topics) else {
            throw ValidationError("--criteria and --topics must be 1 to 20,000,000")
        }
    }

    func run() throws {
        var random = SplitMix64(seed: 7)
        var report = Report()
        let patterns = try (0..<criteria).map { number in
            let levels = Self.topic(&random).levelsBelowDataset
            let shape = Self.shapes[number % Self.shapes.count]
            func given(_ level: Int) -> String? { shape & (1 << UInt8(level)) != 0 ? levels[level] : nil }
            return CriteriaPattern(
                try Criteria(
                    dataset: "d", venue: given(0), building: given(1), floor: given(2), room: given(3), location: given(4),
                    domain: given(5)))
        }
        var index = CriteriaIndex()
        let before = residentBytes()
        let insertion = seconds { for (number, pattern) in patterns.enumerated() { index.insert(pattern, UInt32(number)) } }
        report.add("criteria added", Double(criteria) / insertion, "1/s")
        report.add(
            "memory of each", Double(residentBytes() - before) / Double(criteria), "bytes", note: "beyond its strings")
        measureLookups(index, &random, into: &report)
        print(json ? report.json : report.table)
    }

    private func measureLookups(_ index: CriteriaIndex, _ random: inout SplitMix64, into report: inout Report) {
        let new = (0..<topics).map { _ in Self.topic(&random) }
        let texts = new.map(\.encoded)
        let keys = new.map { LevelKeys($0) }
        var found: [UInt32] = []
        var matches = 0
        let fresh = seconds {
            for place in texts.indices {
                found.removeAll(keepingCapacity: true)
                index.find(keys[place], topic: texts[place], into: &found)
                matches += found.count
            }
        }
        report.add(
            "new topics", Double(topics) / fresh, "1/s",
            note: "\(Self.shapes.count) shapes, \(Double(matches * 100 / topics) / 100) criteria each")

        var memos = [CriteriaMemo](repeating: CriteriaMemo(), count: min(100_000, topics))
        for place in memos.indices { index.find(keys[place], topic: texts[place], remembering: &memos[place], into: &found) }
        let order = (0..<4 * topics).map { _ in Int.random(in: 0..<memos.count, using: &random) }
        let seen = seconds {
            for place in order {
                found.removeAll(keepingCapacity: true)
                index.find(keys[place], topic: texts[place], remembering: &memos[place], into: &found)
                matches += found.count
            }
        }
        report.add("seen topics", Double(order.count) / seen, "1/s", note: "of \(memos.count) in random order")
    }

    private static func topic(_ random: inout SplitMix64) -> LiveTopic {
        let venue = Int.random(in: 0..<50, using: &random)
        let building = "\(venue)-\(Int.random(in: 0..<20, using: &random))"
        let floor = Int.random(in: 0..<10, using: &random)
        let room = "\(building)-\(floor)-\(Int.random(in: 0..<50, using: &random))"
        return LiveTopic(
            dataset: "d", venue: "venue-\(venue)", building: "building-\(building)", floor: "\(floor)", room: "room-\(room)",
            location: "desk-\(room)-\(Int.random(in: 0..<4, using: &random))",
            domain: domains[Int.random(in: 0..<domains.count, using: &random)])
    }

    private static let domains = ["position", "occupancy", "temperature", "co2", "humidity", "count", "availability"]
}
