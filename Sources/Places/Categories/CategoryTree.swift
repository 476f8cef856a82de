/// The categories of a dataset and which is part of which.
///
/// A category is a number here. Ids that are only named, by a place or as a parent, have one too: what is said of them
/// holds as soon as they are declared. Whether one is a descendant of another is decided by two comparisons.
public struct CategoryTree {
    /// Of a category; given to another id when neither a category nor a place names this one any more.
    public typealias Number = UInt32

    /// The most declared categories.
    public static let categoriesMax = 1_000_000

    private var ids = InternPool<ExactText>()
    /// By number: what is declared.
    private var declared: [Number: Declared] = [:]
    /// By number: its place in a walk through the tree, and that of its last descendant.
    private var first: [UInt32] = []
    private var last: [UInt32] = []
    /// Several categories of one place.
    private var sets = InternPool<[Number]>()
    /// Declared ids in order.
    private var sorted: [String] = []

    private struct Declared {
        var category: Category
        var parent: Number?
    }

    init() {}

    /// How many are declared.
    public var count: Int { declared.count }

    /// The number of an id; nil: neither a category nor a place names it.
    public func number(_ id: String) -> Number? { ids.number(of: ExactText(id)) }

    public func id(_ number: Number) -> String? { ids[number]?.text }

    /// A declared category.
    public subscript(id: String) -> Category? { number(id).flatMap { declared[$0]?.category } }

    /// Whether a category is another one, or below it.
    @inline(__always)
    public func isDescendant(_ category: Number, of ancestor: Number) -> Bool {
        if category == ancestor { return true }
        let (category, ancestor) = (Int(category), Int(ancestor))
        guard category < first.count, ancestor < first.count else { return false }
        return first[ancestor] < first[category] && first[category] <= last[ancestor]
    }

    /// The declared ones behind an id in the order of the ids' bytes, at most `limit`.
    public func list(after id: String? = nil, limit: Int = .max) -> [Category] {
        var start = 0
        if let id {
            var end = sorted.count
            while start < end {
                let middle = (start + end) / 2
                if ExactText(id) < ExactText(sorted[middle]) { end = middle } else { start = middle + 1 }
            }
        }
        return sorted[start...].prefix(max(0, limit)).compactMap { self[$0] }
    }

    // MARK: Declaring

    /// What became of categories that were declared.
    public struct Import: Equatable, Sendable {
        /// New ones.
        public var imported = 0
        /// Those whose id was declared before.
        public var replaced = 0
        /// Parents that are not declared, each once, in the order of the ids' bytes.
        public var unknownParents: [String] = []
    }

    /// Declares categories, all or none, in the stead of those that have their ids; of two with one id the last one counts.
    ///
    /// - Throws: ``CategoryError/cycle(_:)`` where one would be its own descendant.
    mutating func declare(_ categories: [Category]) throws(CategoryError) -> Import {
        for category in categories {
            for (field, text) in [("id", category.id), ("parentId", category.parentID ?? "-"), ("name", category.name)] {
                let limit = field == "name" ? PlaceTable.Limits.name : PlaceTable.Limits.id
                let count = text.utf8.count
                guard count <= limit, count > 0 || field == "name" else {
                    throw .length(field: field, bytes: count, limit: limit)
                }
            }
        }
        try checkCycles(categories)
        var added: [ExactText: Bool] = [:]
        for category in categories where self[category.id] == nil { added[ExactText(category.id)] = true }
        guard count + added.count <= Self.categoriesMax else { throw .tooMany(limit: Self.categoriesMax) }
        var result = Import()
        var unknown = Set<ExactText>()
        for category in categories {
            if put(category) { result.imported += 1 } else { result.replaced += 1 }
        }
        for category in categories {
            if let parent = category.parentID, self[parent] == nil { unknown.insert(ExactText(parent)) }
        }
        result.unknownParents = unknown.sorted().map(\.text)
        label()
        return result
    }

    /// Whether it was new.
    private mutating func put(_ category: Category) -> Bool {
        let parent = category.parentID.map { ids.take(ExactText($0)) }
        if let number = number(category.id), let before = declared[number] {
            declared[number] = Declared(category: category, parent: parent)
            if let parent = before.parent { ids.release(parent) }
            return false
        }
        declared[ids.take(ExactText(category.id))] = Declared(category: category, parent: parent)
        return true
    }

    /// Takes a category back; false: it is not declared. Its children name it still.
    mutating func remove(_ id: String) -> Bool {
        guard let number = number(id), let before = declared.removeValue(forKey: number) else { return false }
        if let parent = before.parent { ids.release(parent) }
        ids.release(number)
        label()
        return true
    }

    /// Follows the parents of each new one; what was walked once is not walked again.
    private func checkCycles(_ categories: [Category]) throws(CategoryError) {
        var parents: [ExactText: String?] = [:]
        for category in categories { parents[ExactText(category.id)] = category.parentID }
        var cleared = Set<ExactText>()
        for category in categories {
            var path: [String] = []
            var places: [ExactText: Int] = [:]
            var next: String? = category.id
            while let id = next, !cleared.contains(ExactText(id)) {
                if let place = places[ExactText(id)] { throw .cycle(Array(path[place...])) }
                places[ExactText(id)] = path.count
                path.append(id)
                if let stated = parents[ExactText(id)] { next = stated } else { next = self[id]?.parentID }
            }
            for id in path { cleared.insert(ExactText(id)) }
        }
    }

    /// Numbers all in the order of a walk, children behind their parent.
    private mutating func label() {
        var children: [Number: [Number]] = [:]
        var roots = Set<Number>()
        for (number, entry) in declared {
            guard let parent = entry.parent else {
                roots.insert(number)
                continue
            }
            children[parent, default: []].append(number)
            if declared[parent] == nil { roots.insert(parent) }
        }
        first = Array(repeating: .max, count: ids.reach)
        last = Array(repeating: 0, count: ids.reach)
        var next: UInt32 = 0
        for root in roots {
            // Not by recursion: a chain may be as long as there are categories.
            var stack: [(number: Number, isDone: Bool)] = [(root, false)]
            while let (number, isDone) = stack.popLast() {
                if isDone {
                    last[Int(number)] = next - 1
                    continue
                }
                first[Int(number)] = next
                next += 1
                stack.append((number, true))
                for child in children[number] ?? [] { stack.append((child, false)) }
            }
        }
        sorted = declared.values.map(\.category.id).sorted { ExactText($0) < ExactText($1) }
    }

    // MARK: The categories of one place

    /// Set in a word that is the number of a set; without it the word is that of the only category.
    private static let isSet: UInt32 = 1 << 31

    /// The categories of a place as one word, which they are referred to by from then on.
    mutating func take(_ categoryIDs: [String]) -> UInt32 {
        guard let only = categoryIDs.first else { return PlaceRecord.absent }
        guard categoryIDs.count > 1 else { return ids.take(ExactText(only)) }
        var numbers: [Number] = []
        for id in categoryIDs {
            let number = ids.take(ExactText(id))
            if numbers.contains(number) { ids.release(number) } else { numbers.append(number) }
        }
        guard numbers.count > 1 else { return numbers[0] }
        let isNew = sets.number(of: numbers) == nil
        let set = sets.take(numbers)
        // A set holds one reference to each of its own, however many places have it.
        if !isNew { for number in numbers { ids.release(number) } }
        return set | Self.isSet
    }

    mutating func give(_ word: UInt32) {
        guard word != PlaceRecord.absent else { return }
        guard word & Self.isSet != 0 else {
            ids.release(word)
            return
        }
        let set = word & ~Self.isSet
        let numbers = sets[set] ?? []
        if sets.release(set) { for number in numbers { ids.release(number) } }
    }

    /// The categories of a place.
    public struct Members: RandomAccessCollection, Sendable {
        fileprivate var only: Number?
        fileprivate var several: [Number]?

        public var startIndex: Int { 0 }
        public var endIndex: Int { several?.count ?? (only == nil ? 0 : 1) }

        public subscript(position: Int) -> Number { several?[position] ?? only ?? .max }
    }

    func members(_ word: UInt32) -> Members {
        if word == PlaceRecord.absent { return Members() }
        return word & Self.isSet == 0 ? Members(only: word) : Members(several: sets[word & ~Self.isSet] ?? [])
    }
}

extension PlaceTable {
    /// Declares categories, all or none, in the stead of those that have their ids; of two with one id the last one counts.
    ///
    /// - Throws: Where one would be its own descendant, a text breaks a limit or there are too many: nothing is declared then.
    @discardableResult
    public func declare(_ declared: [Category]) throws(CategoryError) -> CategoryTree.Import {
        let result = try categories.declare(declared)
        generation &+= 1
        return result
    }

    /// Takes a category back; false: it is not declared. Places keep its id, and its children name it still.
    @discardableResult
    public func removeCategory(_ id: String) -> Bool {
        guard categories.remove(id) else { return false }
        generation &+= 1
        return true
    }

    /// Whether a place has a category, or one below it.
    public func isOfCategory(_ handle: Handle, _ ancestor: CategoryTree.Number) -> Bool {
        categories(of: handle).contains { categories.isDescendant($0, of: ancestor) }
    }
}
