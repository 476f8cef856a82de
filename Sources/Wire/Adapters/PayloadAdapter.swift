/// Reads what the devices of one other ecosystem publish, as live updates.
///
/// A new adapter is one file that conforms to this, and one line in ``AdapterFormat/all``. An adapter may remember what
/// it saw, within bounds; there is one for each entry of the configuration, used by one task at a time.
public protocol PayloadAdapter: SendableMetatype {
    /// How the format is called, and what it reads.
    static var format: AdapterFormat { get }

    init()

    /// Reads one payload, a JSON object of at most 64 KiB, and adds what it says; nothing where it says nothing of
    /// position or beacons.
    ///
    /// - Throws: What is wrong, with the field; what was added then does not count.
    mutating func read(
        _ payload: JSONNode, on topic: AdapterTopic, into readings: inout AdapterReadings
    ) throws(WireError)

    /// Whether payloads on this topic need not be JSON, as they say nothing of position or beacons.
    func ignores(_ payload: UnsafeRawBufferPointer, on topic: AdapterTopic) -> Bool

    /// Adds what an empty payload clears.
    func readEmpty(on topic: AdapterTopic, into readings: inout AdapterReadings)
}

extension PayloadAdapter {
    public func ignores(_ payload: UnsafeRawBufferPointer, on topic: AdapterTopic) -> Bool { false }
    public func readEmpty(on topic: AdapterTopic, into readings: inout AdapterReadings) {}
}

/// Where a message of another ecosystem was published.
public struct AdapterTopic: Sendable {
    /// As published, one string for each level, at least one.
    public var levels: [String]
    /// What each wildcard of the filter matched.
    public var wildcards: [String]
    /// The broker replayed it from what it retains.
    public var isRetained: Bool
    /// The configured domain, where the format does not say itself what its payloads are about.
    public var domain: String

    public init(levels: [String], wildcards: [String], isRetained: Bool = false, domain: String = "") {
        self.levels = levels
        self.wildcards = wildcards
        self.isRetained = isRetained
        self.domain = domain
    }

    /// The level so many before the last; nil where the topic is shorter.
    func level(fromEnd offset: Int) -> String? {
        levels.count > offset ? levels[levels.count - 1 - offset] : nil
    }

    var last: String { levels.last ?? "" }

    /// The level after the last one of this name.
    func level(after name: String) -> String? {
        guard let place = levels.lastIndex(of: name), place + 1 < levels.count else { return nil }
        return levels[place + 1]
    }

    /// The level before the last one of this name.
    func level(before name: String) -> String? {
        guard let place = levels.lastIndex(of: name), place > 0 else { return nil }
        return levels[place - 1]
    }
}
