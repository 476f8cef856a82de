/// Numbers in the order of the bytes of their ids, at any time: a trie whose leaves are rows of at most 256 numbers in no order.
///
/// A list sorts only the leaves it comes to. Source: Heinz, Zobel, Williams, "Burst tries", ACM TOIS 20(2), 2002.
struct IDOrder: ~Copyable {
    /// Each node is ``nodeSize`` slots: 0 how many of the others are in use, 1 the number of the id that ends here, then one for
    /// each next byte.
    private var slots = Pool<UInt32>()
    private var freeNodes: [UInt32] = []
    private var leaves = Pool<Leaf>()
    private var freeLeaves: [UInt32] = []
    private var numbers = RunPool<UInt32>()

    struct Leaf: BitwiseCopyable {
        var run: UInt32
        var count: UInt32
    }

    private static let nodeSize = 258
    private static let leafMax: UInt32 = 256
    /// Set in a slot that leads to a node.
    private static let node: UInt32 = 1 << 31

    /// The bytes of the id of a number.
    typealias ID = (UInt32) -> UnsafeRawBufferPointer

    var bytes: Int { slots.bytes + leaves.bytes + numbers.bytes }

    mutating func insert(_ number: UInt32, id: ID) {
        if slots.count == 0 { _ = makeNode() }
        let key = id(number)
        var node = 0
        var depth = 0
        while depth < key.count {
            let place = node + 2 + Int(key[depth])
            let next = slots[place]
            if next & Self.node != 0 {
                node = Int(next & ~Self.node) * Self.nodeSize
            } else if next == 0 {
                let leaf = makeLeaf()
                append(number, to: leaf)
                set(place, of: node, to: leaf + 1)
                return
            } else if leaves[next - 1].count < Self.leafMax {
                append(number, to: next - 1)
                return
            } else {
                node = burst(next - 1, at: place, depth: depth + 1, id: id)
            }
            depth += 1
        }
        set(node + 1, of: node, to: number + 1)
    }

    private mutating func set(_ place: Int, of node: Int, to value: UInt32) {
        if slots[place] == 0 { slots[node] += 1 }
        slots[place] = value
    }

    private mutating func makeNode() -> UInt32 {
        let node = freeNodes.popLast() ?? UInt32(truncatingIfNeeded: slots.extend(by: Self.nodeSize) / Self.nodeSize)
        (slots.base + Int(node) * Self.nodeSize).update(repeating: 0, count: Self.nodeSize)
        return node
    }

    private mutating func makeLeaf() -> UInt32 {
        let leaf = freeLeaves.popLast() ?? UInt32(truncatingIfNeeded: leaves.extend(by: 1))
        leaves[leaf] = Leaf(run: 0, count: 0)
        return leaf
    }

    private mutating func append(_ number: UInt32, to leaf: UInt32) {
        let before = leaves[leaf]
        leaves[leaf] = Leaf(run: numbers.append(number, to: before.run, count: before.count), count: before.count + 1)
    }

    /// Makes a full leaf a node with leaves of its own, and returns where that is.
    private mutating func burst(_ leaf: UInt32, at place: Int, depth: Int, id: ID) -> Int {
        let full = leaves[leaf]
        let made = makeNode()
        let node = Int(made) * Self.nodeSize
        for offset in 0..<full.count {
            let number = numbers.elements[full.run + offset]
            let key = id(number)
            guard depth < key.count else {
                set(node + 1, of: node, to: number + 1)
                continue
            }
            let inner = node + 2 + Int(key[depth])
            if slots[inner] == 0 { set(inner, of: node, to: makeLeaf() + 1) }
            append(number, to: slots[inner] - 1)
        }
        numbers.give(full.run, RunPool<UInt32>.sizeClass(of: full.count))
        freeLeaves.append(leaf)
        slots[place] = made | Self.node
        return node
    }

    mutating func remove(_ number: UInt32, id: ID) {
        guard slots.count > 0 else { return }
        let key = id(number)
        // Where each node of the path hangs: an empty one is taken out.
        var path: [(node: Int, place: Int)] = []
        var node = 0
        var place = 1
        for byte in key {
            place = node + 2 + Int(byte)
            let next = slots[place]
            guard next & Self.node != 0 else { break }
            path.append((node, place))
            node = Int(next & ~Self.node) * Self.nodeSize
            place = node + 1
        }
        let next = slots[place]
        guard next != 0 else { return }
        if place > node + 1 {
            let leaf = next - 1
            guard take(number, outOf: leaf) else { return }
            freeLeaves.append(leaf)
        }
        slots[place] = 0
        slots[node] -= 1
        while slots[node] == 0, let above = path.popLast() {
            freeNodes.append(UInt32(truncatingIfNeeded: node / Self.nodeSize))
            slots[above.place] = 0
            slots[above.node] -= 1
            node = above.node
        }
    }

    /// Whether the leaf is empty then.
    private mutating func take(_ number: UInt32, outOf leaf: UInt32) -> Bool {
        let entry = leaves[leaf]
        for offset in 0..<entry.count where numbers.elements[entry.run + offset] == number {
            let run = numbers.remove(at: offset, of: entry.run, count: entry.count)
            leaves[leaf] = Leaf(run: run, count: entry.count - 1)
            break
        }
        return leaves[leaf].count == 0
    }

    /// One way through the order.
    private struct Walk {
        var id: ID
        var isWanted: (UInt32) -> Bool
        var goesOn: (Int) -> Bool
        var stopped: (UInt32) -> Void
        var visit: (UInt32) -> Bool
    }

    /// Calls `visit` with each number that `isWanted`, in the order of the ids, those behind `bound` only, until it returns false.
    ///
    /// - Parameters:
    ///   - goesOn: Called behind each leaf with how many numbers that has; false ends the walk.
    ///   - stopped: Called then with the last number that was looked at.
    func walk(
        after bound: UnsafeRawBufferPointer?, id: (UInt32) -> UnsafeRawBufferPointer, isWanted: (UInt32) -> Bool,
        goesOn: (Int) -> Bool, stopped: (UInt32) -> Void, visit: (UInt32) -> Bool
    ) {
        guard slots.count > 0 else { return }
        withoutActuallyEscaping(id) { id in
            withoutActuallyEscaping(isWanted) { isWanted in
                withoutActuallyEscaping(goesOn) { goesOn in
                    withoutActuallyEscaping(stopped) { stopped in
                        withoutActuallyEscaping(visit) { visit in
                            let walk = Walk(id: id, isWanted: isWanted, goesOn: goesOn, stopped: stopped, visit: visit)
                            _ = through(0, depth: 0, after: bound, walk)
                        }
                    }
                }
            }
        }
    }

    /// As deep as the longest common beginning of ids, 128 bytes.
    private func through(_ node: Int, depth: Int, after bound: UnsafeRawBufferPointer?, _ walk: Walk) -> Bool {
        var first = 0
        var inner: UnsafeRawBufferPointer?
        if let bound, depth < bound.count {
            // What ends here begins the bound, and so comes before it.
            first = Int(bound[depth])
            inner = bound
        } else if bound == nil, slots[node + 1] != 0 {
            let number = slots[node + 1] - 1
            if walk.isWanted(number), !walk.visit(number) { return false }
        }
        for byte in first..<256 {
            let next = slots[node + 2 + byte]
            guard next != 0 else { continue }
            let bound = byte == first ? inner : nil
            let goesOn =
                next & Self.node != 0
                ? through(Int(next & ~Self.node) * Self.nodeSize, depth: depth + 1, after: bound, walk)
                : through(leaves[next - 1], after: bound, walk)
            guard goesOn else { return false }
        }
        return true
    }

    private func through(_ leaf: Leaf, after bound: UnsafeRawBufferPointer?, _ walk: Walk) -> Bool {
        var wanted: [UInt32] = []
        for offset in 0..<leaf.count {
            let number = numbers.elements[leaf.run + offset]
            if let bound, !bound.precedes(walk.id(number)) { continue }
            if walk.isWanted(number) { wanted.append(number) }
        }
        wanted.sort { walk.id($0).precedes(walk.id($1)) }
        for number in wanted where !walk.visit(number) { return false }
        guard !walk.goesOn(Int(leaf.count)) else { return true }
        let all = (0..<leaf.count).map { numbers.elements[leaf.run + $0] }
        if let last = all.max(by: { walk.id($0).precedes(walk.id($1)) }) { walk.stopped(last) }
        return false
    }
}
