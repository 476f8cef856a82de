import LiveTopics
import Records
import Wire

// structure/list · get · delete, dataset/import

extension StructureBook {
    /// Changes occupancy and geofences along with the structure.
    func importAll(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let collection = try call.parameters.nested("structure")
        _ = try collection.word("type", of: ["FeatureCollection"])
        let work = put(try collection.array("features"), of: call.dataset.id, at: call.now)
        call.dataset.occupancy?.isOutdated = true
        for record in work.records { turn.keep(.put(record)) }
        call.dataset.geofences.structureChanged(&turn)
        return work.encoded()
    }

    /// The objects of a level, or below some others, in the order of their paths.
    func list(_ call: Call) throws(WireError) -> any Search {
        try call.checkReader()
        let parameters = call.parameters
        let level = try parameters.structureLevel("level")
        let above = try parameters.structureParents(of: level)
        let withOutlines = try parameters.optionalBool("outlines") ?? false
        var page = Page(limit: try parameters.listLimit())
        page.after = try parameters.optionalString("after", characters: 1...4096)
        return PageSearch(
            page, of: tree.all,
            key: { node in
                (level == nil || node.level == level) && node.lies(below: above) ? node.path.structureKey : nil
            },
            encode: { [page] found, isCut in
                page.encode("objects", found, id: \.key.text, isCut: isCut) { entry in
                    // It may have gone since it was looked at.
                    guard self.tree.node(at: entry.element.path) === entry.element else { return nil }
                    return entry.element.record.encoded(withOutline: withOutlines)
                }
            })
    }

    func get(_ call: Call) throws(WireError) -> [UInt8] {
        try call.checkReader()
        return try node(call).record.encoded(withOutline: true)
    }

    /// Deletes an object with everything below it; occupancies derived for them are cleared.
    func delete(_ call: Call, _ turn: inout Turn) throws(WireError) -> [UInt8] {
        let dataset = call.dataset
        let node = try node(call)
        let gone = tree.all.filter { $0 === node || $0.lies(under: node) }
        remove(gone, at: call.now)
        for node in gone.reversed() { turn.keep(.delete(node.record.key)) }
        clearOccupancies(of: gone, in: dataset, &turn)
        dataset.geofences.structureChanged(&turn)
        return JSONWriter.object { writer in
            writer.member("deleted", gone.count)
        }
    }

    /// The object that `level`, `id` and `parents` name.
    private func node(_ call: Call) throws(WireError) -> StructureNode {
        let parameters = call.parameters
        guard let level = try parameters.structureLevel("level") else { throw parameters.missing("level") }
        let id = try parameters.id("id")
        let above = try parameters.structureParents(of: level)
        let found = tree.nodes(level, id, below: above)
        guard let node = found.first else {
            let others = tree.count <= Call.nearMax ? tree.all.filter { $0.level == level && $0.fits(below: above) } : []
            throw call.absent(level.rawValue, id, above.isEmpty ? "" : " there", of: others.map(\.record.id)) { _ in nil }
        }
        guard found.count == 1 else {
            throw WireError(
                .invalid, "`parents` must say which \(level.rawValue) `\(id)` is meant: there are \(found.count)",
                field: "parents")
        }
        return node
    }

    /// What is derived is no longer derived for objects that are gone, unless positions go on naming them.
    private func clearOccupancies(of gone: [StructureNode], in dataset: Dataset, _ turn: inout Turn) {
        guard dataset.occupancy != nil else { return }
        // It is made anew from what is known then.
        dataset.occupancy = nil
        for node in gone where node.level != .location {
            let levels = node.path + Array(repeating: LiveTopic.notApplicable, count: 4 - node.path.count)
            let topic = LiveTopic(
                dataset: dataset.id, venue: levels[0], building: levels[1], floor: levels[2], room: levels[3],
                domain: KnownDomain.occupancy.rawValue
            ).encoded
            guard let state = shared.liveStates[topic], state.isDerived, state.payload != nil else { continue }
            let former = state.snapshot
            shared.live.forgetState(state, asOf: turn.now, receivedAt: turn.now, &turn)
            turn.keep(state, after: former)
        }
    }
}

extension StructureNode {
    /// Whether all levels that are given are above it; `-` gives none.
    func lies(below levels: [String]) -> Bool {
        for (depth, level) in levels.enumerated() where level != LiveTopic.notApplicable {
            guard depth < record.parents.count, record.parents[depth].hasSameBytes(as: level) else { return false }
        }
        return true
    }

    /// Whether another object is above it, by its whole path.
    func lies(under other: StructureNode) -> Bool {
        path.count > other.path.count && zip(path, other.path).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}

extension StructureRecord {
    /// `{"level","id","parents","name"?,"floorIndex"?,"capacity"?,"outline"?}`, where `parents` leaves out what is not known.
    fileprivate func encoded(withOutline: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("level", level.rawValue)
            writer.member("id", id)
            writer.key("parents")
            writer.beginObject()
            for above in StructureLevel.allCases
            where above.depth < parents.count && parents[above.depth] != LiveTopic.notApplicable {
                writer.member(above.rawValue, parents[above.depth])
            }
            writer.endObject()
            writer.member("name", optional: name)
            if let floorIndex { writer.member("floorIndex", floorIndex) }
            if let capacity { writer.member("capacity", capacity) }
            if withOutline, let geometry {
                writer.key("outline")
                writer.raw(Array(geometry.utf8))
            }
        }
    }
}

extension Parameters {
    /// The level that a parameter names, nil where it is absent.
    func structureLevel(_ key: String) throws(WireError) -> StructureLevel? { try optionalChoice(key) }

    /// `parents` by level or in order from the venue on: as many as were given, `-` for those left open.
    func structureParents(of level: StructureLevel?) throws(WireError) -> [String] {
        guard let value = value("parents") else { return [] }
        switch try StructureFeature.parents(value, of: level ?? .location) {
        case .named(let levels), .listed(let levels): return levels
        }
    }
}
