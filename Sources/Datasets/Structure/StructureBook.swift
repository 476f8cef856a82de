import Geodesy
import LiveTopics
import Matching
import Records
import Wire

/// The venues, buildings, floors, rooms and locations of one dataset, and which of them positions are in.
final class StructureBook {
    private(set) var tree = Structure()
    /// Rises with whatever may change what a strict dataset lets in.
    private(set) var declarations: UInt32 = 1
    /// Where positions are in the tree; made when first needed, and anew after each change.
    private var locator: Locator?
    private var floors = Floors()
    /// When the tree was last changed, until positions were looked up in it again.
    private var changedAt: Int64?
    let shared: Shared
    private let diagnostics: Diagnostics

    init(_ shared: Shared, _ diagnostics: Diagnostics) {
        self.shared = shared
        self.diagnostics = diagnostics
    }

    // MARK: Changes

    func put(_ features: [JSONValue], of dataset: String, at now: Int64) -> StructureImport {
        // The locator holds the tree, too: with it, changing would copy.
        locator = nil
        var work = StructureImport(into: tree, of: dataset, limit: shared.limits.structureObjects)
        tree = Structure()
        work.importAll(features)
        tree = work.structure
        changedAt = now
        noteDeclarations()
        return work
    }

    func restore(_ record: StructureRecord) {
        // What is kept was read before: an outline that cannot be read now would only be missing.
        let geometry = record.geometry.flatMap { try? JSONValue.parse(Array($0.utf8), using: shared.parser) }
        let outline = (try? Outline(geometry: geometry)) ?? nil
        locator = nil
        tree.put(record, outline: outline)
        noteDeclarations()
    }

    /// Removes objects, and nothing that lies below them.
    func remove(_ gone: [StructureNode], at now: Int64) {
        locator = nil
        tree.remove(gone)
        changedAt = now
        noteDeclarations()
    }

    /// The store gives back that an object was deleted.
    func restoreDeleted(_ key: RecordKey) {
        guard let node = tree.all.first(where: { $0.record.key == key }) else { return }
        locator = nil
        tree.remove([node])
        noteDeclarations()
    }

    /// Before the store gives the structure back.
    func reset() {
        locator = nil
        tree = Structure()
        noteDeclarations()
    }

    /// What else is declared has changed: policy and domains of the dataset, or its devices.
    func noteDeclarations() { declarations &+= 1 }

    /// Whether positions are to be looked up again, which it takes as done.
    ///
    /// Every position is read, so a structure that comes in many requests is waited for: until a second passed without one.
    func consumeChange(at now: Int64) -> Bool {
        guard let changedAt, now - changedAt >= 1000 || now < changedAt else { return false }
        self.changedAt = nil
        return true
    }

    /// Not all positions were looked up.
    func mustLookAgain() { changedAt = changedAt ?? 0 }

    // MARK: Rooms

    /// Where in the structure a known position is.
    ///
    /// - Returns: nil where neither its room nor its floor is known.
    func whereabouts(of state: LiveState) -> Whereabouts? {
        guard let payload = state.payload, let update = LiveMessage.update(inPayload: payload, using: shared.parser) else {
            return nil
        }
        return whereabouts(of: update, on: state.topic)
    }

    func whereabouts(of update: LiveUpdate, on topic: String) -> Whereabouts? { find(update, on: topic).found }

    /// The building or venue where a position is, of which neither room nor floor is known.
    func surroundings(of update: LiveUpdate, on topic: String) -> Whereabouts? {
        guard let position = update.position else { return nil }
        return locate { $0.surroundings(of: position, stated: $0.statedLevels(of: topic)) }
    }

    /// Finds where a position is and adds to its properties what its topic leaves open: `venue`, `building`, `floor`, `room`.
    ///
    /// A property that was sent under one of these names stays as it was sent.
    func locate(_ update: LiveUpdate, on topic: String, completing properties: inout [UInt8]) -> Whereabouts? {
        let (found, stated) = find(update, on: topic)
        guard let found else { return nil }
        for level in StructureLevel.allCases.dropLast() where stated?.says(level) != true {
            let id = found.levels[level.depth]
            if id != LiveTopic.notApplicable { properties.appendMember(level.rawValue, id) }
        }
        return found
    }

    /// Whether anything of the structure has an outline.
    var hasOutlines: Bool { tree.hasOutlines }

    /// The room whose outline holds a position, on the floor of another room: venue, building, floor and room.
    func room(at position: Position, onFloorOf other: [String]) -> [String]? {
        let locator = self.locator ?? Locator(tree)
        self.locator = locator
        let stated = StatedLevels(levels: other.dropLast() + [LiveTopic.notApplicable], named: nil)
        return locator.whereabouts(of: position, floorIndex: nil, stated: stated).flatMap { $0.room == nil ? nil : $0.levels }
    }

    /// Whether a position is within the outline of a room's floor, else of its building; true without one.
    func isIndoors(_ position: Position, onFloorOf room: [String]) -> Bool {
        let outline = tree.node(at: Array(room.prefix(3)))?.outline ?? tree.node(at: Array(room.prefix(2)))?.outline
        return outline?.contains(position) ?? true
    }

    /// Where what a topic names is, such as a room; of a location that is nowhere known the room: where something is that no device says.
    func position(ofTopic topic: String) -> Position? {
        guard tree.count > 0 else { return nil }
        var levels = topic.utf8.split(separator: UInt8(ascii: "/")).dropFirst().prefix(StructureLevel.allCases.count)
            .map { LevelCoding.decode($0) ?? LiveTopic.notApplicable }
        while levels.last == LiveTopic.notApplicable { levels.removeLast() }
        if let position = tree.node(at: levels)?.position { return position }
        guard levels.count == StructureLevel.allCases.count, levels[StructureLevel.room.depth] != LiveTopic.notApplicable else {
            return nil
        }
        return tree.node(at: levels.dropLast())?.position
    }

    private func find(_ update: LiveUpdate, on topic: String) -> (found: Whereabouts?, stated: StatedLevels?) {
        guard let position = update.position else { return (nil, nil) }
        return locate { locator in
            let stated = locator.statedLevels(of: topic)
            return (locator.whereabouts(of: position, floorIndex: update.floorIndex, stated: stated), stated)
        }
    }

    private func locate<Found>(_ find: (inout Locator) -> Found) -> Found {
        // Taken out and put back, so that it is changed in place.
        var locator = self.locator ?? Locator(tree)
        self.locator = nil
        defer { self.locator = locator }
        return find(&locator)
    }

    // MARK: Floors

    /// The floor a position is on: what its topic names, else where the structure finds it, else its `floorIndex` in the building
    /// that its topic names.
    ///
    /// - Parameter found: Where the structure finds it.
    func floor(of state: LiveState, index: Int?, found: Whereabouts?, _ turn: inout Turn) -> FloorRef {
        if let floor = floor(of: state, index: index, found: found) { return floor }
        diagnostics.reportOverload(
            state.topic, "the dataset has \(shared.limits.liveTopics) floors, the maximum: this one counts as unknown", count: 1,
            &turn)
        return .unknown
    }

    /// The floor of a part of the structure; nil where there is no room for another one.
    func floor(of whereabouts: Whereabouts) -> FloorRef? { floors.floor(of: whereabouts, maximum: shared.limits.liveTopics) }

    /// - Returns: nil where there is no room for another floor.
    func floor(of state: LiveState, index: Int?, found: Whereabouts?) -> FloorRef? {
        let maximum = shared.limits.liveTopics
        if let found, let floor = floors.floor(of: found, maximum: maximum), floor != .unknown { return floor }
        if state.floor == nil { state.floor = floors.place(of: state.topic, maximum: maximum) }
        switch state.floor {
        case .known(let floor)?: return floor
        case .unknown?: return .unknown
        case .building?:
            guard let index else { return .unknown }
            return floors.floor(index, in: state.topic, of: tree, maximum: maximum)
        case nil: return nil
        }
    }
}

extension [UInt8] {
    /// Adds a member to a JSON object, unless it is there.
    fileprivate mutating func appendMember(_ name: String, _ value: String) {
        // A colon follows a closing quote after keys only, and a quote within a text is escaped.
        guard last == UInt8(ascii: "}"), !contains(sequence: Array("\"\(name)\":".utf8)) else { return }
        removeLast()
        if last != UInt8(ascii: "{") { append(UInt8(ascii: ",")) }
        var writer = JSONWriter()
        swap(&writer.bytes, &self)
        writer.key(name)
        writer.string(value)
        writer.endObject()
        swap(&writer.bytes, &self)
    }

    private func contains(sequence: [UInt8]) -> Bool {
        guard let first = sequence.first, count >= sequence.count else { return false }
        for start in 0...(count - sequence.count) where self[start] == first {
            if self[start..<(start + sequence.count)].elementsEqual(sequence) { return true }
        }
        return false
    }
}
