import Wire

// dataset/import, and how the structure comes back.

extension Hub {
    func importStructure(_ call: Call, into effects: inout HubEffects) throws(WireError) -> [UInt8] {
        let dataset = call.dataset
        let collection = try call.parameters.nested("structure")
        _ = try collection.word("type", of: ["FeatureCollection"])
        let features = try collection.array("features")
        // The locator holds the structure, too: with it, changing would copy.
        dataset.locator = nil
        var work = StructureImport(
            into: dataset.structure, of: dataset.id, limit: configuration.limits.structureObjects)
        dataset.structure = Structure()
        work.take(features)
        dataset.structure = work.structure
        dataset.occupancy?.isOutdated = true
        for record in work.records { effects.changes.append(.putStructure(record)) }
        return work.encoded()
    }

    func restore(_ record: StructureRecord) {
        guard let dataset = datasets[record.dataset] else { return }
        // What is kept was read before: an outline that cannot be read now would only be missing.
        let geometry = record.geometry.flatMap { try? JSONValue.parse(Array($0.utf8), using: parser) }
        let outline = (try? Outline(geometry: geometry)) ?? nil
        dataset.locator = nil
        dataset.structure.put(record, outline: outline)
    }
}
