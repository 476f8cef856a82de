import Geodesy
import LiveTopics
import Records

/// Answers in which room a position is, from its topic, its floor index and the outlines of one state of a structure.
///
/// A room or a floor that the topic names is taken as it is. Otherwise it is the smallest room whose outline holds the position
/// on the floor that the topic or the floor index names; where neither does, only a position that lies in rooms of one floor is
/// in one of them. A floor without an outline of its own has its building's.
struct Locator {
    private let structure: Structure
    private var entries: [Entry] = []
    private var index = OutlineIndex()
    /// What topics said so far, by their levels before the location.
    private var stated = ByteKeyed<StatedLevels>()

    /// A part of the structure with an outline.
    private struct Entry {
        var node: StructureNode
        var outline: Outline
        var floorIndex: Int?
        var whereabouts: Whereabouts

        /// It is a room or a floor.
        var isWithinBuilding: Bool { node.level.depth >= StructureLevel.floor.depth }
    }

    /// How many different beginnings of topics are remembered.
    private static let statedMax = 100_000

    init(_ structure: Structure) {
        self.structure = structure
        guard structure.hasOutlines else { return }
        for node in structure.all {
            guard let outline = outline(of: node) else { continue }
            let floorIndex = floorIndex(of: node)
            let levels = node.path + Array(repeating: LiveTopic.notApplicable, count: 4 - node.path.count)
            for polygon in outline.polygons { index.insert(entries.count, bounds: polygon.bounds) }
            entries.append(
                Entry(
                    node: node, outline: outline, floorIndex: floorIndex,
                    whereabouts: Whereabouts(levels: levels, outline: outline, floorIndex: floorIndex)))
        }
    }

    private func outline(of node: StructureNode) -> Outline? {
        switch node.level {
        case .venue, .building, .room: node.outline
        case .floor: node.outline ?? structure.node(at: Array(node.path.prefix(2)))?.outline
        case .location: nil
        }
    }

    private func floorIndex(of node: StructureNode) -> Int? {
        if let own = node.record.floorIndex { return own }
        guard node.level == .room else { return nil }
        return structure.node(at: Array(node.path.prefix(3)))?.record.floorIndex
    }

    /// What a topic says; nil where it leaves venue, building, floor and room open.
    ///
    /// - Parameter topic: Of a position, seven levels, encoded.
    mutating func statedLevels(of topic: String) -> StatedLevels? {
        guard let prefix = topic.levelsBeforeLocation else { return nil }
        if let known = stated[prefix] { return known }
        guard let live = try? LiveTopic(encoded: topic) else { return nil }
        let levels = [live.venue, live.building, live.floor, live.room]
        let stated = StatedLevels(levels: levels, named: named(levels, 3...4), surroundings: named(levels, 1...2))
        if self.stated.count >= Self.statedMax { self.stated.removeAll() }
        self.stated[prefix] = stated
        return stated
    }

    /// The lowest that levels name, of so many levels.
    private func named(_ levels: [String], _ depths: ClosedRange<Int>) -> Whereabouts? {
        guard let depth = depths.last(where: { levels[$0 - 1] != LiveTopic.notApplicable }) else { return nil }
        let whole = structure.completed(levels)
        let node = structure.node(at: Array(whole.prefix(depth)))
        return Whereabouts(
            levels: whole, outline: node.flatMap(outline), floorIndex: node.flatMap(floorIndex))
    }

    /// - Parameter stated: What its topic says.
    /// - Returns: nil where neither the room nor the floor is known.
    func whereabouts(of position: Position, floorIndex: Int?, stated: StatedLevels?) -> Whereabouts? {
        if let stated, stated.says(.room) { return stated.named }
        guard !index.isEmpty else { return stated?.named }
        var rooms = Choice()
        var floors = Choice()
        index.forEach(near: position) { number in
            let entry = entries[number]
            guard entry.isWithinBuilding, stated.map({ fits(entry, $0) }) ?? true else { return }
            guard entry.outline.contains(position) else { return }
            if entry.node.level == .room { rooms.offer(entry) } else { floors.offer(entry) }
        }
        let indexed = stated?.says(.floor) == true ? nil : floorIndex
        if let room = rooms.best(floorIndex: indexed) { return room }
        if let stated, stated.says(.floor) { return stated.named }
        return floors.best(floorIndex: indexed)
    }

    /// The building that the topic names or whose outline holds a position, else the venue.
    ///
    /// - Returns: nil where neither is known.
    func surroundings(of position: Position, stated: StatedLevels?) -> Whereabouts? {
        if let stated, stated.says(.building) { return stated.surroundings }
        var best: Entry?
        index.forEach(near: position) { number in
            let entry = entries[number]
            guard !entry.isWithinBuilding, stated.map({ fits(entry, $0) }) ?? true, entry.outline.contains(position) else {
                return
            }
            guard let known = best, known.node.level != entry.node.level else {
                if entry.outline.squareMetres < best?.outline.squareMetres ?? .infinity { best = entry }
                return
            }
            if entry.node.level == .building { best = entry }
        }
        return best?.whereabouts ?? stated?.surroundings
    }

    private func fits(_ entry: Entry, _ stated: StatedLevels) -> Bool {
        zip(entry.whereabouts.levels, stated.levels).allSatisfy { own, said in
            own == LiveTopic.notApplicable || said == LiveTopic.notApplicable || own.hasSameBytes(as: said)
        }
    }

    /// The outlines of one kind that hold a position.
    private struct Choice {
        private var entries: [Entry] = []

        mutating func offer(_ entry: Entry) { entries.append(entry) }

        /// The smallest on the floor of this index; without one, the smallest where all are on one floor.
        ///
        /// What is known to be on another floor is never chosen; what is on no known floor only where nothing is on the right one.
        func best(floorIndex: Int?) -> Whereabouts? {
            var left = entries
            if let floorIndex {
                let exact = left.filter { $0.floorIndex == floorIndex }
                left = exact.isEmpty ? left.filter { $0.floorIndex == nil } : exact
            }
            guard let first = left.first else { return nil }
            guard left.allSatisfy({ $0.whereabouts.isOnSameFloor(as: first.whereabouts) }) || floorIndex != nil else {
                return nil
            }
            return left.min { $0.outline.squareMetres < $1.outline.squareMetres }?.whereabouts
        }
    }
}

extension String {
    /// Of a live topic, what precedes the location, if it names a venue, building, floor or room.
    fileprivate var levelsBeforeLocation: String? {
        withBytes { bytes in
            var slashes = 0
            var start = 0
            for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "/") {
                slashes += 1
                if slashes == 1 { start = offset }
                guard slashes == 5 else { continue }
                let levels = UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
                return levels.elementsEqual("/-/-/-/-".utf8) ? nil : String(decoding: levels, as: UTF8.self)
            }
            return nil
        }
    }
}
