import Records

/// Ids in order, made when first asked for and kept from then on: most datasets are never listed.
///
/// What is removed may still be given: the caller looks each id up anyway.
struct SortedIDs {
    private var ids: [String]?
    /// Added since `ids` was made; sorted in when next asked for, as inserting each would cost a million moves.
    private var added: [String] = []

    mutating func insert(_ id: String) {
        guard let count = ids?.count else { return }
        added.append(id)
        // Devices that come and go would otherwise gather here until somebody lists them.
        if added.count > count + 1024 { self = SortedIDs() }
    }

    /// The ids behind this one, whether it still exists or not, each once.
    mutating func ids(after id: String?, of all: () -> [String]) -> ArraySlice<String> {
        let ordered = self.ordered(all)
        guard let id else { return ordered[...] }
        let key = ByteKey(id)
        var low = 0
        var high = ordered.count
        while low < high {
            let middle = (low + high) / 2
            if key < ByteKey(ordered[middle]) { high = middle } else { low = middle + 1 }
        }
        return ordered[low...]
    }

    private mutating func ordered(_ all: () -> [String]) -> [String] {
        if let ids, added.isEmpty { return ids }
        let ordered = (ids.map { $0 + added } ?? all()).sorted { ByteKey($0) < ByteKey($1) }
        var unique: [String] = []
        unique.reserveCapacity(ordered.count)
        for id in ordered where unique.last?.hasSameBytes(as: id) != true { unique.append(id) }
        ids = unique
        added = []
        return unique
    }
}
