import Records

extension [DurableChange] {
    /// The same history without what a later change of it replaces anyway.
    ///
    /// Live states of a topic, delivery counters of a subscription and filters of a broker are replaced as a whole, and nothing else
    /// reads them: of several in one transaction only the last has an effect, whatever was deleted or created between. The last
    /// keeps its place, so the order of the others is kept.
    func coalesced() -> [DurableChange] {
        var last: [CoalescingKey: Int] = [:]
        var replaced = 0
        for (index, change) in enumerated() {
            guard let key = CoalescingKey(change) else { continue }
            if last.updateValue(index, forKey: key) != nil { replaced += 1 }
        }
        guard replaced > 0 else { return self }
        var kept: [DurableChange] = []
        kept.reserveCapacity(count - replaced)
        for (index, change) in enumerated() {
            if let key = CoalescingKey(change), last[key] != index { continue }
            kept.append(change)
        }
        return kept
    }
}

/// What a change replaces as a whole; nil for all others.
private enum CoalescingKey: Hashable {
    case record(RecordKey)
    case amendment(RecordKey, [String])
    case filters(Field)

    init?(_ change: DurableChange) {
        switch change {
        case .put(let record) where record.kind.statements.isReplacedByTheNext: self = .record(record.key)
        case .amend(let amendment) where type(of: amendment).isReplaced:
            self = .amendment(amendment.key, type(of: amendment).columns)
        case .putFilters(let broker, _): self = .filters(.text(broker))
        default: return nil
        }
    }
}
