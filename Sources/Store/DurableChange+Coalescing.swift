import Records

extension [DurableChange] {
    /// The same history without what a later change of it replaces anyway.
    ///
    /// Live states of a topic, delivery counters of a subscription and filters of a broker are replaced as a whole, and nothing else
    /// reads them: of several in one transaction only the last has an effect, whatever was deleted or created between. The last
    /// keeps its place, so the order of the others stands.
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

/// What a change replaces as a whole; nil for all others. Compared by bytes as the database does, not as Swift compares strings.
private struct CoalescingKey: Hashable {
    private enum Kind: UInt8 {
        case liveState, delivery, filters
    }

    private let kind: Kind
    private let scope: String
    private let name: String

    init?(_ change: DurableChange) {
        switch change {
        case .putLiveState(let record): (kind, scope, name) = (.liveState, record.dataset, record.topic)
        case .putDelivery(let dataset, let id, _): (kind, scope, name) = (.delivery, dataset, id)
        case .putFilters(let broker, _): (kind, scope, name) = (.filters, broker, "")
        default: return nil
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.name.utf8.elementsEqual(right.name.utf8)
            && left.scope.utf8.elementsEqual(right.scope.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        for text in [scope, name] {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(0xFF as UInt8)
        }
    }
}
