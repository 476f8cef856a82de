import LiveTopics
import Wire
import Records

// What a strict dataset lets in: structure that was imported, and domains that are active.

extension Dataset {
    /// Throws `notFound`, the level as `field`, where a strict dataset does not know one of these levels; an open one knows all.
    ///
    /// A level is declared where one of its id was imported that no given level above contradicts. A known device's id counts
    /// as a declared location; with `autoCreateDevices` any id does, on `position` and `proximity` or where the domain is open.
    ///
    /// - Parameter levels: Seven, dataset first, as in a topic but decoded; nil for one that criteria leave open, `-` for one that
    ///   does not apply. The dataset is not looked at.
    func checkDeclared(levels: [String?]) throws(WireError) {
        guard isStrict else { return }
        let given = levels.map { $0 ?? LiveTopic.notApplicable }
        guard given.count == LiveTopic.levelNames.count else { return }
        let above = Array(given[1...5])
        for level in StructureLevel.allCases {
            let id = above[level.depth]
            guard id != LiveTopic.notApplicable, !structure.tree.declares(level, id, below: above) else { continue }
            if level == .location, countsAsDeclared(location: id, domain: levels[6]) { continue }
            throw .undeclared(level.depth + 1, id, in: self.id)
        }
        guard let domain = levels[6], !hasActive(domain: domain) else { return }
        throw .undeclared(6, domain, in: id)
    }

    /// The check of a live update, once for each state of the dataset's declarations.
    func checkDeclared(_ state: LiveState) throws(WireError) {
        guard isStrict, state.declaredAsOf != structure.declarations else { return }
        guard let live = try? LiveTopic(encoded: state.topic) else { return }
        try checkDeclared(
            levels: [live.dataset, live.venue, live.building, live.floor, live.room, live.location, live.domain])
        state.declaredAsOf = structure.declarations
    }

    var isStrict: Bool { record.policy == "strict" }

    /// - Parameter domain: nil where criteria leave it open.
    private func countsAsDeclared(location id: String, domain: String?) -> Bool {
        if devices[id] != nil { return true }
        guard record.autoCreateDevices else { return false }
        return domain.map { $0 == KnownDomain.position.rawValue || $0 == KnownDomain.proximity.rawValue } ?? true
    }

    /// `domains` names those that are active; what the dataset derives itself is active, too.
    private func hasActive(domain: String) -> Bool {
        guard let domains = record.domains else { return true }
        if domain == KnownDomain.presence.rawValue { return true }
        if record.derivedOccupancy, domain == KnownDomain.occupancy.rawValue { return true }
        return domains.contains { $0.hasSameBytes(as: domain) }
    }
}
