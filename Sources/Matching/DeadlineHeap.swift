import EngineMemory

/// Deadlines in order: a heap of four children a node.
///
/// Not a timer wheel: deadlines mostly come in growing order, so that adding costs a comparison or two; the next one is known
/// exactly; and those that are due come out by (instant, kind, number) without further sorting. Cancelling is the owner's: what
/// comes out is compared with what stands in the record, and the owner rebuilds when most of the heap is stale.
struct DeadlineHeap {
    struct Item: BitwiseCopyable {
        var deadline: Int64
        var kind: UInt32
        var index: UInt32

        @inline(__always)
        static func < (a: Item, b: Item) -> Bool {
            if a.deadline != b.deadline { return a.deadline < b.deadline }
            return a.kind != b.kind ? a.kind < b.kind : a.index < b.index
        }
    }

    private var items: UnsafeMutablePointer<Item>
    private var capacity = 16
    private(set) var count = 0

    init() { items = DeadlineHeap.memory(16) }

    func deallocate() { BigMemory.release(items) }

    var bytes: Int { capacity * MemoryLayout<Item>.stride }

    var first: Item? { count > 0 ? items[0] : nil }

    mutating func add(_ item: Item) {
        if count == capacity {
            let next = BigMemory.grown(capacity, stride: MemoryLayout<Item>.stride)
            items = BigMemory.resize(
                items, used: count * MemoryLayout<Item>.stride, bytes: next * MemoryLayout<Item>.stride
            ).bindMemory(to: Item.self, capacity: next)
            capacity = next
        }
        var hole = count
        count += 1
        while hole > 0 {
            let parent = (hole - 1) / 4
            guard item < items[parent] else { break }
            items[hole] = items[parent]
            hole = parent
        }
        items[hole] = item
    }

    mutating func removeFirst() {
        count -= 1
        guard count > 0 else { return }
        let item = items[count]
        var hole = 0
        while true {
            let firstChild = hole * 4 + 1
            guard firstChild < count else { break }
            var least = firstChild
            for child in firstChild + 1..<max(firstChild + 1, min(firstChild + 4, count)) where items[child] < items[least] {
                least = child
            }
            guard items[least] < item else { break }
            items[hole] = items[least]
            hole = least
        }
        items[hole] = item
    }

    /// Empties the heap and gives memory it no longer needs back.
    mutating func removeAll(expecting expected: Int) {
        count = 0
        guard capacity > 4096 && expected * 4 < capacity else { return }
        BigMemory.release(items)
        capacity = max(16, expected)
        items = DeadlineHeap.memory(capacity)
    }

    private static func memory(_ capacity: Int) -> UnsafeMutablePointer<Item> {
        BigMemory.allocate(bytes: capacity * MemoryLayout<Item>.stride).bindMemory(to: Item.self, capacity: capacity)
    }
}
