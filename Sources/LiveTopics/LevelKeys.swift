/// A hash of each of the six levels below the dataset: what criteria are looked up by.
///
/// Seeded by the process like every hash of the standard library, so that nobody can choose names that collide. Equal keys
/// are a hint only; ``CriteriaPattern/matches(_:topic:)`` compares the levels themselves.
public struct LevelKeys: Sendable {
    /// Venue … domain, then two zeros.
    @usableFromInline let keys: SIMD8<UInt32>

    public init(_ topic: LiveTopic) {
        keys = SIMD8(
            Self.key(topic.venue), Self.key(topic.building), Self.key(topic.floor), Self.key(topic.room),
            Self.key(topic.location), Self.key(topic.domain), 0, 0)
    }

    /// Nobody's keys.
    public init() { keys = .zero }

    static func key(_ level: String) -> UInt32 {
        var hasher = Hasher()
        var level = level
        level.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }
}

/// Criteria made ready for comparing them with topics.
public struct CriteriaPattern: Sendable {
    @usableFromInline let keys: SIMD8<UInt32>
    /// All ones where a level is given.
    @usableFromInline let mask: SIMD8<UInt32>
    /// The filter in one form: every open level is `+`.
    @usableFromInline let text: String
    let shape: UInt8

    public init(_ criteria: Criteria) {
        var keys = SIMD8<UInt32>()
        var mask = SIMD8<UInt32>()
        var text = LevelCoding.encode(criteria.dataset)
        for (index, level) in criteria.levels.enumerated() {
            text += "/"
            text += level.map { LevelCoding.encode($0) } ?? "+"
            guard let level else { continue }
            keys[index] = LevelKeys.key(level)
            mask[index] = .max
        }
        self.keys = keys
        self.mask = mask
        self.text = text
        shape = criteria.shape
    }

    /// Whether a topic is wanted, given by its keys and its canonical form (``LiveTopic/encoded``).
    @inlinable
    public func matches(_ keys: LevelKeys, topic: String) -> Bool {
        mayMatch(keys) && Self.matches(text: text, topic: topic)
    }

    /// False where some level is another one for sure: a glance before ``matches(_:topic:)``.
    @inlinable
    public func mayMatch(_ other: LevelKeys) -> Bool { (keys ^ other.keys) & mask == .zero }

    /// Whether a filter, its open levels being `+`, lets a canonical topic through: byte by byte, as a level holds no `+`.
    @usableFromInline
    static func matches(text filter: String, topic: String) -> Bool {
        var filter = filter
        var topic = topic
        return filter.withUTF8 { filter in
            topic.withUTF8 { topic in
                var at = 0
                for byte in filter {
                    if byte == UInt8(ascii: "+") {
                        while at < topic.count, topic[at] != UInt8(ascii: "/") { at += 1 }
                    } else {
                        guard at < topic.count, topic[at] == byte else { return false }
                        at += 1
                    }
                }
                return at == topic.count
            }
        }
    }
}
