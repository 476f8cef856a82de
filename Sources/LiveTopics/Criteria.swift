/// A live topic with some levels left open: which live updates somebody wants.
public struct Criteria: Equatable, Sendable {
    public let dataset: String
    /// Venue, building, floor, room, location and domain, decoded; nil is open. `-` is the level that does not apply.
    public let levels: [String?]
    /// How many of ``levels`` are before a `#` in ``encoded``; 6 where there is none.
    private let writtenLevels: Int

    /// How many levels there are below the dataset.
    public static let levelCount = 6

    /// Criteria from decoded levels; a trailing run that is open together with the domain is written `#`.
    ///
    /// An empty level means `-`, the domain is compared in lower case.
    ///
    /// - Throws: ``CriteriaError/level(_:)`` where the dataset is no name or a level is longer than an id.
    public init(
        dataset: String, venue: String? = nil, building: String? = nil, floor: String? = nil, room: String? = nil,
        location: String? = nil, domain: String? = nil
    ) throws(CriteriaError) {
        let given = [venue, building, floor, room, location, domain?.lowercased()]
        do throws(LiveTopicError) {
            self.dataset = try LiveTopic.dataset(Array(dataset.utf8))
            for (index, level) in given.enumerated() {
                if let level { try LiveTopic.checkLength(level, name: LiveTopic.levelNames[index + 1]) }
            }
        } catch {
            throw .level(error)
        }
        levels = given.map { $0?.isEmpty == true ? LiveTopic.notApplicable : $0 }
        writtenLevels = levels.lastIndex { $0 != nil }.map { $0 + 1 } ?? 0
    }

    /// Reads criteria as an MQTT filter with `+` and `#` over the seven encoded levels.
    public init(encoded text: String) throws(CriteriaError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let first = parts.first, !Self.isWildcard(first) else { throw .openDataset }
        let isOpenEnded = parts.count > 1 && parts[parts.count - 1].elementsEqual("#".utf8)
        let written = isOpenEnded ? parts.count - 2 : parts.count - 1
        guard written == Self.levelCount || isOpenEnded && written < Self.levelCount else { throw .levelCount(parts.count) }
        var levels: [String?] = []
        do throws(LiveTopicError) {
            dataset = try LiveTopic.dataset(Array(first))
            for index in 0..<written {
                levels.append(try Self.level(parts[index + 1], name: LiveTopic.levelNames[index + 1]))
            }
        } catch {
            if case .level(_, .unencoded) = error, text.utf8.contains(where: Self.isWildcard) { throw .misplacedWildcard }
            throw .level(error)
        }
        while levels.count < Self.levelCount { levels.append(nil) }
        self.levels = levels
        writtenLevels = written
    }

    /// The criteria as an MQTT filter over the seven levels: what was open is `+`, and `#` where it was written so.
    public var encoded: String {
        var text = LevelCoding.encode(dataset)
        for level in levels.prefix(writtenLevels) {
            text += "/"
            text += level.map { LevelCoding.encode($0) } ?? "+"
        }
        return writtenLevels < Self.levelCount ? text + "/#" : text
    }

    /// Whether the topic is one of those wanted.
    public func matches(_ topic: LiveTopic) -> Bool {
        guard topic.dataset.utf8.elementsEqual(dataset.utf8) else { return false }
        for (wanted, level) in zip(levels, topic.levelsBelowDataset) {
            if let wanted, !wanted.utf8.elementsEqual(level.utf8) { return false }
        }
        return true
    }

    /// Which levels are given: bit 0 for the venue … bit 5 for the domain.
    public var shape: UInt8 {
        var shape: UInt8 = 0
        for (index, level) in levels.enumerated() where level != nil { shape |= 1 << UInt8(index) }
        return shape
    }

    private static func level(_ bytes: Substring.UTF8View, name: String) throws(LiveTopicError) -> String? {
        if bytes.elementsEqual("+".utf8) { return nil }
        let level = try LiveTopic.level(bytes, name: name)
        guard name == "domain" else { return level }
        let lower = level.lowercased()
        try LiveTopic.checkLength(lower, name: name)
        return lower
    }

    private static func isWildcard(_ level: Substring.UTF8View) -> Bool {
        level.elementsEqual("+".utf8) || level.elementsEqual("#".utf8)
    }

    private static func isWildcard(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "+") || byte == UInt8(ascii: "#") }
}

extension LiveTopic {
    /// Venue, building, floor, room, location and domain.
    public var levelsBelowDataset: [String] { [venue, building, floor, room, location, domain] }
}
