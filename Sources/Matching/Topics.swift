/// One side of a topic: the publications, or the subscriptions, whose devices have a position.
struct TopicSide: BitwiseCopyable {
    var count: UInt32 = 0
    /// A bit for each level of the grid that holds something.
    var levelsInUse: UInt32 = 0
    /// The list of its tiles.
    var firstTile: UInt32 = none
    /// While the side has no grid, all its lanes.
    var line = Run()
    /// By level; nil: no grid, the side is small.
    var levels: UnsafeMutablePointer<LevelUse>?

    /// Where a side's line is.
    @inline(__always)
    static func line(of side: UnsafeMutablePointer<TopicSide>) -> UnsafeMutablePointer<Run> {
        (UnsafeMutableRawPointer(side) + MemoryLayout<TopicSide>.offset(of: \.line)!).assumingMemoryBound(to: Run.self)
    }
}

/// One level of one side's grid.
struct LevelUse: BitwiseCopyable {
    var count: UInt32 = 0
    /// Grid units; neither is drawn in before the level is empty.
    var longestRange: Int32 = 0
    var shortestRange = Int32.max
    /// How many times the sides of its cells were halved; negative: doubled.
    var refinement: Int32 = 0
    /// The sum of the squares of what its cells hold: divided by the count, what a lane finds in its cell.
    var squares: UInt64 = 0

    @inline(__always)
    func fineness(ofLevel level: Int) -> Int { max(0, min(Grid.levels - 1, level + Int(refinement))) }
}

/// A topic as a key: topics are equal when their bytes are, not when Unicode calls them equivalent.
private struct TopicName: Hashable {
    var text: String
    var isAccuracyAware = false

    static func == (left: TopicName, right: TopicName) -> Bool {
        left.isAccuracyAware == right.isAccuracyAware && left.text.utf8.elementsEqual(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(isAccuracyAware)
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// Topics in use, each held once.
///
/// Accuracy-aware subscriptions, those for which more than points and ranges decides what is in range, are kept apart: a topic that has
/// any has a counterpart that holds nothing but them. So a probe for the others neither sees them nor slows down.
struct Topics {
    /// From this many lanes on a side gets a grid, and below the other number it loses it: a scan of 64 lanes is eight blocks.
    static let gridFrom = 65
    static let lineBelow = 33
    /// Grid keys name a group in 26 bits, the highest for classes; groups beyond keep to the line.
    private static let griddable: UInt32 = 1 << 24

    struct Topic: BitwiseCopyable {
        var users: UInt32
        /// Its subscriptions with a lane, of all classes.
        var placedSubscriptions: UInt32 = 0
        /// Whether subscriptions are in classes.
        var isClassified = false
        var firstClass: UInt32 = none
        /// Of a topic with accuracy-aware subscriptions, the topic that holds them; of that one, the other; else `none`.
        var counterpart: UInt32
        var publications: TopicSide
        var subscriptions: TopicSide
        /// Subscriptions that count accuracies as possible reach.
        var wide: Int32
        var isAccuracyAware: Bool
    }

    private var topics = Slab<Topic>()
    private var names = ContiguousArray<String>()
    private var byName: [TopicName: UInt32] = [:]

    var bytes: Int { topics.bytes + names.capacity * 16 + byName.capacity * 40 }

    func deallocate() {
        for index in byName.values {
            topics[index].publications.levels?.deallocate()
            topics[index].subscriptions.levels?.deallocate()
        }
        topics.deallocate()
    }

    /// - Parameter accuracyAware: For an accuracy-aware subscription.
    mutating func intern(_ name: String, accuracyAware: Bool) -> UInt32 {
        let key = TopicName(text: name, isAccuracyAware: accuracyAware)
        if let index = byName[key] {
            topics[index].users += 1
            return index
        }
        // The counterpart uses its topic.
        let plain = accuracyAware ? intern(name, accuracyAware: false) : none
        let index = topics.take()
        topics[index] = Topic(
            users: 1, counterpart: plain, publications: TopicSide(), subscriptions: TopicSide(), wide: 0,
            isAccuracyAware: accuracyAware)
        if accuracyAware { topics[plain].counterpart = index }
        byName[key] = index
        if Int(index) < names.count { names[Int(index)] = name } else { names.append(name) }
        return index
    }

    /// The topic must not hold a lane of the entry that lets go of it.
    mutating func release(_ index: UInt32) {
        topics[index].users -= 1
        guard topics[index].users == 0 else { return }
        let (counterpart, isAccuracyAware) = (topics[index].counterpart, topics[index].isAccuracyAware)
        byName[TopicName(text: names[Int(index)], isAccuracyAware: isAccuracyAware)] = nil
        names[Int(index)] = ""
        topics.release(index)
        if isAccuracyAware {
            topics[counterpart].counterpart = none
            release(counterpart)
        }
        if byName.isEmpty {
            byName = [:]
            names = []
        }
    }

    @inline(__always)
    func counterpart(_ topic: UInt32) -> UInt32 { topics[topic].counterpart }

    /// Whether a topic holds a subscription that counts accuracies as possible reach.
    func isWide(_ topic: UInt32) -> Bool { topics[topic].wide > 0 }

    func widen(_ topic: UInt32, by count: Int32) { topics[topic].wide += count }

    @inline(__always)
    func side(_ topic: UInt32, _ side: Side) -> UnsafeMutablePointer<TopicSide> {
        let base = UnsafeMutableRawPointer(topics.base + Int(topic))
        let offset =
            side == .publication
            ? MemoryLayout<Topic>.offset(of: \.publications)! : MemoryLayout<Topic>.offset(of: \.subscriptions)!
        return (base + offset).assumingMemoryBound(to: TopicSide.self)
    }

    @inline(__always)
    func topic(_ topic: UInt32) -> UnsafeMutablePointer<Topic> { topics.base + Int(topic) }

    /// The group of the lanes of one side of a topic, as far as they are in no class.
    @inline(__always)
    static func group(_ topic: UInt32, _ side: Side) -> UInt32 { topic << 1 | side.rawValue }

    /// The group's number in grid keys.
    @inline(__always)
    static func key(_ group: UInt32) -> UInt32 { group & LaneClasses.mark == 0 ? group : group & ~LaneClasses.mark | 1 << 25 }

    static func canHaveGrid(_ group: UInt32) -> Bool { group & ~LaneClasses.mark < griddable * 2 }
}
