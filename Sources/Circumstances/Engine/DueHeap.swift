/// Instants at which devices must be looked at again, earliest first.
struct DueHeap {
    struct Entry {
        var due: Int64
        var device: UInt32
    }

    private var entries: [Entry] = []

    var first: Entry? { entries.first }
    var count: Int { entries.count }

    mutating func push(_ entry: Entry) {
        entries.append(entry)
        var index = entries.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index].due < entries[parent].due else { return }
            entries.swapAt(index, parent)
            index = parent
        }
    }

    mutating func pop() -> Entry? {
        guard let first = entries.first else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first }
        entries[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count && entries[child].due < entries[least].due {
                least = child
            }
            if least == index { return first }
            entries.swapAt(index, least)
            index = least
        }
    }
}
