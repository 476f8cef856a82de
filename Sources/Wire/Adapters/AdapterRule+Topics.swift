import LiveTopics

// What the adapters' filters mean beside the daemon's own: a broker delivers a message twice where two filters overlap.

extension AdapterRule {
    /// The first entry whose filter overlaps with the daemon's own topics or an earlier entry's, and with what.
    ///
    /// - Parameters:
    ///   - prefix: Before the daemon's trees; empty, or ends with `/`. The filters here never carry it.
    ///   - datasets: Those that are known: all topics below their names are theirs.
    public static func overlap(
        in rules: [AdapterRule], prefix: String, datasets: [String]
    ) -> (index: Int, problem: String)? {
        let own = ["live", "geomatch"] + datasets
        for (index, rule) in rules.enumerated() {
            let named = "`\(rule.filter)` overlaps with"
            if rule.matchesAnyDataset(prefix: prefix) {
                return (
                    index,
                    "\(named) `\(prefix){dataset}/#`, the live topics of any dataset: \(rule.firstLevel(prefix)) must be no wildcard"
                )
            }
            for name in own where overlap(rule.filter, prefix + name + "/#") {
                let whose = datasets.contains(name) ? "the live topics of the dataset `\(name)`" : "the daemon's own topics"
                return (index, "\(named) `\(prefix)\(name)/#`, \(whose)")
            }
            if rule.dataset.isLiteral, let name = rule.reservedDataset(prefix: prefix), name == rule.dataset.text {
                return (
                    index,
                    "\(named) `\(prefix)\(name)/#`, the live topics of the dataset `\(name)` that it fills: another name must be chosen for one of them"
                )
            }
            for earlier in rules[..<index] where overlap(rule.filter, earlier.filter) {
                return (index, "\(named) `\(earlier.filter)` of another adapter")
            }
        }
        return nil
    }

    private func firstLevel(_ prefix: String) -> String {
        prefix.isEmpty ? "its first level" : "every level up to the first behind `\(prefix)`"
    }

    /// The name that no dataset can have, as the topics below it are this adapter's; nil where there is none.
    public func reservedDataset(prefix: String) -> String? {
        let levels = Self.levels(filter)
        let before = prefix.utf8.count { $0 == UInt8(ascii: "/") }
        guard levels.count > before, Self.overlap(filter, prefix + "#") || prefix.isEmpty else { return nil }
        return Name.isDataset(levels[before]) ? levels[before] : nil
    }

    /// The filters that bring this adapter's messages where all topics of seven levels are read anyway: those with seven
    /// are left out, as they come that way.
    ///
    /// - Parameter prefix: Before the seven levels.
    public func filtersBesideSevenLevels(prefix: String) -> [String] {
        let seven = prefix + "+/+/+/+/+/+/+"
        guard Self.overlap(filter, seven) else { return [filter] }
        let levels = Self.levels(filter)
        guard levels.last == "#" else { return [] }
        let base = Array(levels.dropLast())
        let count = Self.levels(seven).count
        func padded(to length: Int) -> [String] { base + Array(repeating: "+", count: max(0, length - base.count)) }
        // `a/#` is `a`, `a/+`, … and what is longer than seven levels.
        let shorter = base.count < count ? (base.count..<count).map { padded(to: $0) } : []
        return (shorter.filter { !$0.isEmpty } + [padded(to: count + 1) + ["#"]]).map { $0.joined(separator: "/") }
    }

    /// Whether a wildcard is where datasets have their names, or before.
    private func matchesAnyDataset(prefix: String) -> Bool {
        let places = Self.levels(prefix).count
        guard Self.overlap(filter, prefix + "#") else { return false }
        return Self.levels(filter).prefix(places).contains { $0 == "+" || $0 == "#" }
    }

    private static func levels(_ filter: String) -> [String] {
        filter.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private static func overlap(_ left: String, _ right: String) -> Bool {
        guard let left = try? TopicFilter(left), let right = try? TopicFilter(right) else { return false }
        return left.overlaps(right)
    }
}

extension AdapterRule {
    /// The names that no dataset may have, each with the filter of the first rule that begins with it.
    public static func reservedDatasets(of rules: [AdapterRule], prefix: String) -> [String: String] {
        var reserved: [String: String] = [:]
        for rule in rules {
            if let name = rule.reservedDataset(prefix: prefix), reserved[name] == nil { reserved[name] = rule.filter }
        }
        return reserved
    }
}
