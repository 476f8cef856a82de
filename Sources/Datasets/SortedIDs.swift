import Records

/// Ids in order, in chunks: one more among a million moves some hundred.
struct SortedIDs {
    /// None is empty.
    private var chunks: [[String]] = []

    private static let chunkMaximum = 512

    mutating func insert(_ id: String) {
        let key = ByteKey(id)
        // As a store gives them back: chunks that are full are left behind.
        guard let last = chunks.last?.last, !(ByteKey(last) < key) else { return append(id) }
        guard let (chunk, place) = place(of: key) else { return }
        if place < chunks[chunk].count, ByteKey(chunks[chunk][place]) == key { return }
        guard chunks[chunk].count == Self.chunkMaximum else { return chunks[chunk].insert(id, at: place) }
        chunks.insert(Array(chunks[chunk][(Self.chunkMaximum / 2)...]), at: chunk + 1)
        chunks[chunk].removeSubrange((Self.chunkMaximum / 2)...)
        insert(id)
    }

    private mutating func append(_ id: String) {
        guard let count = chunks.last?.count, count < Self.chunkMaximum else { return chunks.append([id]) }
        chunks[chunks.count - 1].append(id)
    }

    mutating func remove(_ id: String) {
        let key = ByteKey(id)
        guard let (chunk, place) = place(of: key), place < chunks[chunk].count, ByteKey(chunks[chunk][place]) == key else {
            return
        }
        chunks[chunk].remove(at: place)
        if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
    }

    /// So many ids behind this one, whether it is there or not.
    func ids(after id: String?, count: Int) -> [String] {
        var found: [String] = []
        var (chunk, start) = (0, 0)
        if let key = id.map(ByteKey.init) {
            guard let place = place(of: key) else { return [] }
            (chunk, start) = place
            if start < chunks[chunk].count, ByteKey(chunks[chunk][start]) == key { start += 1 }
        }
        while chunk < chunks.count, found.count < count {
            found += chunks[chunk][start...].prefix(count - found.count)
            (chunk, start) = (chunk + 1, 0)
        }
        return found
    }

    /// Where an id is or would be; nil where there are none.
    private func place(of key: ByteKey) -> (chunk: Int, place: Int)? {
        guard !chunks.isEmpty else { return nil }
        let chunk = max(0, Self.count(of: chunks) { !(key < ByteKey($0[0])) } - 1)
        return (chunk, Self.count(of: chunks[chunk]) { ByteKey($0) < key })
    }

    /// How many of what is in order are before what is not.
    private static func count<Element>(of elements: [Element], _ isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(elements[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
