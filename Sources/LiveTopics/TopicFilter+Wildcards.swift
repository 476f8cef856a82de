extension TopicFilter {
    /// How many `+` and `#` it has.
    public var wildcardCount: Int {
        levels.count { level in
            if case .exact = level { false } else { true }
        }
    }

    /// What each wildcard matches in a topic, in order; nil where the filter does not match.
    ///
    /// `#` matches all the levels that are left, with the slashes between them; for none it is empty.
    public func wildcards(in topic: [String]) -> [String]? {
        var found: [String] = []
        for (index, level) in levels.enumerated() {
            switch level {
            case .rest:
                found.append(topic.dropFirst(index).joined(separator: "/"))
                return found
            case .any:
                guard index < topic.count, index > 0 || topic[0].utf8.first != UInt8(ascii: "$") else { return nil }
                found.append(topic[index])
            case .exact(let bytes):
                guard index < topic.count, topic[index].utf8.elementsEqual(bytes) else { return nil }
            }
        }
        return topic.count == levels.count ? found : nil
    }

    /// Whether there is a topic that both filters match: a broker may deliver its message twice.
    public func overlaps(_ other: TopicFilter) -> Bool {
        for index in 0...max(levels.count, other.levels.count) {
            let left = index < levels.count ? levels[index] : nil
            let right = index < other.levels.count ? other.levels[index] : nil
            if index == 0, Self.isKeptApart(left, right) || Self.isKeptApart(right, left) { return false }
            switch (left, right) {
            // `a/#` matches `a` too.
            case (.rest, _), (_, .rest): return true
            case (nil, nil): return true
            case (nil, _), (_, nil): return false
            case (.exact(let mine), .exact(let others)): if mine != others { return false }
            case (.any, _), (_, .any): continue
            }
        }
        return true
    }

    /// A wildcard in the first level finds no topic of the broker's own.
    private static func isKeptApart(_ wildcard: Level?, _ exact: Level?) -> Bool {
        switch (wildcard, exact) {
        case (.any, .exact(let bytes)), (.rest, .exact(let bytes)): bytes.first == UInt8(ascii: "$")
        default: false
        }
    }
}
