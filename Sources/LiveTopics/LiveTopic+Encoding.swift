extension LiveTopic {
    /// Reads the topic of a message, without prefix.
    ///
    /// The dataset is looked at first, so that what is wrong with the rest can be reported to its owner. Empty levels
    /// become `-`, the domain lower case.
    public init(encoded topic: some Collection<UInt8>) throws(LiveTopicError) {
        let levels = topic.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        self.init(dataset: try Self.dataset(levels.first.map { Array($0) } ?? []), domain: "")
        guard levels.count == 7 else { throw .levelCount(levels.count) }
        venue = try Self.level(levels[1], name: "venue")
        building = try Self.level(levels[2], name: "building")
        floor = try Self.level(levels[3], name: "floor")
        room = try Self.level(levels[4], name: "room")
        location = try Self.level(levels[5], name: "location")
        domain = try Self.level(levels[6], name: "domain").lowercased()
        // A few characters have a longer lower case; the canonical form must stay readable.
        try Self.checkLength(domain, name: "domain")
        guard domain != Self.notApplicable else { throw .noDomain }
        guard [venue, building, floor, room, location].contains(where: { $0 != Self.notApplicable }) else {
            throw .nothingBetween
        }
    }

    /// Reads the topic of a message, without prefix.
    public init(encoded topic: String) throws(LiveTopicError) {
        try self.init(encoded: topic.utf8)
    }

    /// The canonical form: seven encoded levels, `-` for those that do not apply, upper-case hexadecimal.
    public var encoded: String {
        var topic = LevelCoding.encode(dataset)
        for level in [venue, building, floor, room, location, domain] {
            topic += "/"
            topic += LevelCoding.encode(level)
        }
        return topic
    }

    static func dataset(_ level: [UInt8]) throws(LiveTopicError) -> String {
        guard let name = String(validating: level, as: UTF8.self) else { throw .malformedDataset }
        if name.isEmpty || name == notApplicable { throw .noDataset }
        if Name.reservedDatasets.contains(name) { throw .reservedDataset(name) }
        guard Name.isPlain(name) else { throw .malformedDataset }
        return name
    }

    static func level(_ bytes: some Collection<UInt8>, name: String) throws(LiveTopicError) -> String {
        if bytes.isEmpty { return notApplicable }
        let id: String
        do throws(LiveTopicError.Problem) {
            id = try LevelCoding.decoded(bytes)
        } catch {
            throw .level(name: name, problem: error)
        }
        try checkLength(id, name: name)
        return id
    }

    static func checkLength(_ id: String, name: String) throws(LiveTopicError) {
        guard id.utf8.count <= Name.idBytesMax else { throw .level(name: name, problem: .length(id.utf8.count)) }
    }
}
