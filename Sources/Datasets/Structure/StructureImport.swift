import LiveTopics
import Wire
import Records

/// One `dataset/import`: what became of each feature.
///
/// Features are taken from the top level down, so that children may come before their parents. A parent that is neither
/// known nor among the features is declared without an outline, with a warning.
struct StructureImport {
    private let dataset: String
    private let limit: Int
    private(set) var structure: Structure
    /// What is to be made durable.
    private(set) var records: [StructureRecord] = []
    private var report = ImportReport()
    /// What the features themselves declare, by level.
    private var coming = StructureLevel.allCases.map { _ in ByteKeyed<Bool>() }

    /// - Parameter limit: How many objects the structure may have.
    init(into structure: Structure, of dataset: String, limit: Int) {
        self.structure = structure
        self.dataset = dataset
        self.limit = limit
    }

    mutating func importAll(_ features: [JSONValue]) {
        var read: [[StructureFeature]] = StructureLevel.allCases.map { _ in [] }
        for (place, value) in features.enumerated() {
            do throws(WireError) {
                let feature = try StructureFeature(value)
                read[feature.level.depth].append(feature)
                coming[feature.level.depth][feature.id] = true
            } catch {
                report.refuse(StructureFeature.shownID(of: value), error, element: place)
            }
        }
        var seen = ByteKeyed<Bool>()
        for feature in read.joined() { put(feature, &seen) }
    }

    private mutating func put(_ feature: StructureFeature, _ seen: inout ByteKeyed<Bool>) {
        do throws(WireError) {
            let parents = try parents(of: feature)
            let key = (parents + [feature.id]).structureKey
            if seen[key] != nil { warn("the \(feature.level.rawValue) `\(feature.id)` comes twice; the last one counts") }
            seen[key] = true
            try checkRoom(for: parents + [feature.id])
            declare(parents, of: feature)
            let record = StructureRecord(
                dataset: dataset, level: feature.level, parents: parents, id: feature.id, name: feature.name,
                floorIndex: feature.floorIndex, capacity: feature.capacity, geometry: feature.geometry)
            records.append(record)
            if structure.put(record, outline: feature.outline) { report.imported += 1 } else { report.replaced += 1 }
        } catch {
            report.refuse(feature.id, error, element: nil)
        }
    }

    /// Its parents may have to be declared with it.
    private func checkRoom(for path: [String]) throws(WireError) {
        guard structure.node(at: path) == nil else { return }
        let unknown = path.indices.filter {
            path[$0] != LiveTopic.notApplicable && structure.node(at: Array(path[...$0])) == nil
        }
        guard structure.count + unknown.count > limit else { return }
        throw WireError(.limit, "the structure has \(structure.count) objects, and \(limit) are the maximum")
    }

    /// Declares the levels above a feature that nobody declared.
    private mutating func declare(_ parents: [String], of feature: StructureFeature) {
        for level in StructureLevel.allCases where level.depth < parents.count {
            let id = parents[level.depth]
            let above = Array(parents[..<level.depth])
            guard id != LiveTopic.notApplicable, structure.node(at: above + [id]) == nil else { continue }
            let record = StructureRecord(dataset: dataset, level: level, parents: above, id: id)
            records.append(record)
            structure.put(record, outline: nil)
            warn(
                "the \(level.rawValue) `\(id)` of the \(feature.level.rawValue) `\(feature.id)` was not declared and is now, "
                    + "without an outline")
        }
    }

    // MARK: Parents

    /// The ids of the levels above, those that were left out filled in where only one object can be meant.
    private mutating func parents(of feature: StructureFeature) throws(WireError) -> [String] {
        var parents: [String]
        switch feature.parents {
        case .named(let named): parents = named
        case .listed(let ids): parents = placed(ids, below: feature.level)
        }
        guard
            let lowest = StructureLevel.allCases.last(where: {
                $0.depth < parents.count && parents[$0.depth] != LiveTopic.notApplicable
            })
        else {
            if feature.level != .venue { warn("the \(feature.level.rawValue) `\(feature.id)` names no parents and fits any") }
            return parents
        }
        let candidates = structure.nodes(lowest, parents[lowest.depth], below: parents)
        guard candidates.count <= 1 else {
            throw WireError(
                .invalid,
                "`parents` must say which \(lowest.rawValue) `\(parents[lowest.depth])` is meant: there are \(candidates.count)",
                field: "parents")
        }
        for (depth, id) in (candidates.first?.path ?? []).enumerated() where parents[depth] == LiveTopic.notApplicable {
            parents[depth] = id
        }
        return parents
    }

    /// Ids from the top, each at its level. As many as there are levels above are taken as they are; fewer are put where they are
    /// declared, else from the venue on.
    private func placed(_ ids: [String], below level: StructureLevel) -> [String] {
        var parents = Array(repeating: LiveTopic.notApplicable, count: level.depth)
        let levels = StructureLevel.allCases.prefix(level.depth)
        var places: [Int] = []
        for id in ids where id != LiveTopic.notApplicable {
            let next = (places.last ?? -1) + 1
            guard let place = levels.first(where: { $0.depth >= next && isKnown($0, id) }) else { break }
            places.append(place.depth)
        }
        let named = ids.filter { $0 != LiveTopic.notApplicable }
        if ids.count == level.depth || places.count < named.count {
            parents.replaceSubrange(..<ids.count, with: ids)
        } else {
            for (id, place) in zip(named, places) { parents[place] = id }
        }
        return parents
    }

    private func isKnown(_ level: StructureLevel, _ id: String) -> Bool {
        coming[level.depth][id] != nil || structure.declares(level, id, below: [])
    }

    // MARK: Reply

    private mutating func warn(_ text: String) { report.warn(text) }

    /// `{"imported","replaced","refused":[{"id","error"}],"warnings":[…]}`
    func encoded() -> [UInt8] { report.encoded() }
}
