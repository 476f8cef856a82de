/// Ids in order, made when first asked for and kept from then on: most datasets are never listed.
struct SortedIDs {
    private var ids: [String]?

    mutating func insert(_ id: String) {
        guard let ids, let index = position(after: id, in: ids) else { return }
        if index > 0, ids[index - 1] == id { return }
        self.ids?.insert(id, at: index)
    }

    mutating func remove(_ id: String) {
        guard let ids, let index = position(after: id, in: ids), index > 0, ids[index - 1] == id else { return }
        self.ids?.remove(at: index - 1)
    }

    /// The ids behind this one, whether it still exists or not.
    mutating func ids(after id: String?, of all: () -> [String]) -> ArraySlice<String> {
        let ordered = ids ?? all().sorted()
        ids = ordered
        guard let id, let index = position(after: id, in: ordered) else { return ordered[...] }
        return ordered[index...]
    }

    private func position(after id: String, in ids: [String]) -> Int? {
        var low = 0
        var high = ids.count
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] <= id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
