import Geodesy
import LiveTopics
import Wire
import Records

/// The venues, buildings, floors, rooms and locations of a dataset.
///
/// Each is known by its path. A level that a path leaves open (`-`) is unknown, not absent: a room without a floor fits any.
struct Structure {
    private var nodes = ByteKeyed<StructureNode>()
    /// Of each level, by id.
    private var byID = StructureLevel.allCases.map { _ in ByteKeyed<[StructureNode]>() }
    /// In the order in which they came.
    private(set) var all: [StructureNode] = []
    private var counts = StructureLevel.allCases.map { _ in 0 }
    /// Rises with each change, so that what was worked out from it is known to be old.
    private(set) var generation: UInt32 = 0
    /// Some room, floor or building has an outline.
    private(set) var hasOutlines = false

    var count: Int { all.count }

    func count(of level: StructureLevel) -> Int { counts[level.depth] }

    /// - Parameter path: From the venue down to its own id.
    func node(at path: [String]) -> StructureNode? { nodes[path.structureKey] }

    /// Those of a level with this id that nothing in the levels above contradicts.
    ///
    /// Where all levels above are given and one is known exactly there, it is the only one.
    func nodes(_ level: StructureLevel, _ id: String, below levels: [String]) -> [StructureNode] {
        let above = Array(levels.prefix(level.depth))
        if above.count == level.depth, let exact = node(at: above + [id]) { return [exact] }
        return byID[level.depth][id]?.filter { $0.fits(below: above) } ?? []
    }

    /// The only floor with this index that nothing in the levels above contradicts; nil where there is none or more than one.
    func floor(index: Int, below levels: [String]) -> StructureNode? {
        var found: StructureNode?
        for node in all where node.level == .floor && node.record.floorIndex == index && node.fits(below: levels) {
            guard found == nil else { return nil }
            found = node
        }
        return found
    }

    /// Whether one of a level with this id fits the levels above.
    func declares(_ level: StructureLevel, _ id: String, below levels: [String]) -> Bool {
        let above = Array(levels.prefix(level.depth))
        if above.count == level.depth, node(at: above + [id]) != nil { return true }
        return byID[level.depth][id]?.contains { $0.fits(below: above) } ?? false
    }

    /// Declares an object, or replaces the one at the same path.
    ///
    /// - Returns: False where it was known.
    @discardableResult
    mutating func put(_ record: StructureRecord, outline: Outline?) -> Bool {
        generation &+= 1
        if outline != nil { hasOutlines = true }
        let key = (record.parents + [record.id]).structureKey
        if let known = nodes[key] {
            known.replace(record, outline: outline)
            return false
        }
        let node = StructureNode(record, outline: outline)
        nodes[key] = node
        var namesakes = byID[record.level.depth].removeValue(forKey: record.id) ?? []
        namesakes.append(node)
        byID[record.level.depth][record.id] = namesakes
        all.append(node)
        counts[record.level.depth] += 1
        return true
    }

    /// Removes objects, and nothing that lies below them.
    mutating func remove(_ gone: [StructureNode]) {
        generation &+= 1
        let identities = Set(gone.map(ObjectIdentifier.init))
        for node in gone {
            nodes[node.path.structureKey] = nil
            counts[node.level.depth] -= 1
            let namesakes = byID[node.level.depth][node.record.id]?.filter { $0 !== node } ?? []
            byID[node.level.depth][node.record.id] = namesakes.isEmpty ? nil : namesakes
        }
        all.removeAll { identities.contains(ObjectIdentifier($0)) }
        hasOutlines = all.contains { $0.outline != nil }
    }

    /// These levels with what the structure knows of the open ones above the lowest one that is given, where that is but one
    /// object: `-/-/-/r1` becomes `v/b/f/r1`.
    func completed(_ levels: [String]) -> [String] {
        for level in StructureLevel.allCases.reversed() where level.depth < levels.count {
            let id = levels[level.depth]
            guard id != LiveTopic.notApplicable else { continue }
            let found = nodes(level, id, below: levels)
            guard found.count == 1 else { continue }
            return zip(levels, found[0].path + levels.dropFirst(level.depth + 1)).map { own, known in
                own == LiveTopic.notApplicable ? known : own
            }
        }
        return levels
    }
}
