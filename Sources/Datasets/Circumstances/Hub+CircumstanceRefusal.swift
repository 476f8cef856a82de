import Records

extension Hub {
    /// Where in the changes stands what followed from a circumstance that a refused request was to register, enable or take away: it
    /// is as it was before, and what positions in the same batch led to is decided again.
    static func incidentsOfRefused(in changes: [DurableChange], _ asked: Set<Int>) -> [Int] {
        var refused = Set<CircumstanceKey>()
        for index in asked {
            switch changes[index] {
            case .putCircumstance(let record): refused.insert(CircumstanceKey(record.dataset, record.id))
            case .deleteCircumstance(let dataset, let id): refused.insert(CircumstanceKey(dataset, id))
            default: break
            }
        }
        guard !refused.isEmpty else { return [] }
        return changes.indices.filter { index in
            switch changes[index] {
            case .putHeld(let record), .deleteHeld(let record):
                refused.contains(CircumstanceKey(record.dataset, record.circumstanceID))
            case .putIncident(let record):
                record.source == .circumstance && refused.contains(CircumstanceKey(record.dataset, record.sourceID))
            default: false
            }
        }
    }

    /// Incidents that a refused request led to never were.
    func takeBackIncidents(_ changes: [DurableChange], _ asked: Set<Int>) {
        for index in asked {
            guard case .putIncident(let record) = changes[index] else { continue }
            _ = outbox.remove(record.number)
        }
    }
}

private struct CircumstanceKey: Hashable {
    var dataset: String
    var id: ByteKey

    init(_ dataset: String, _ id: String) {
        self.dataset = dataset
        self.id = ByteKey(id)
    }
}
