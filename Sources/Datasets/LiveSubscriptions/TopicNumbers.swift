/// A set of the dense numbers of live topics: a hash set while it has few, a bit for each topic beyond.
///
/// So the objects inside a view of a whole dataset cost an eighth of a byte for each topic, and those of a room next to nothing.
struct TopicNumbers: Equatable {
    private enum Storage {
        case few(Set<UInt32>)
        case many([UInt64], count: Int)
    }

    private var storage = Storage.few([])

    var count: Int {
        switch storage {
        case .few(let numbers): numbers.count
        case .many(_, let count): count
        }
    }

    func contains(_ number: UInt32) -> Bool {
        switch storage {
        case .few(let numbers): return numbers.contains(number)
        case .many(let words, _):
            let word = Int(number >> 6)
            return word < words.count && words[word] & 1 << UInt64(number & 63) != 0
        }
    }

    mutating func insert(_ number: UInt32) {
        switch storage {
        case .few(var numbers):
            storage = .few([])
            numbers.insert(number)
            storage = .few(numbers)
            if numbers.count > Self.fewMax { spread(numbers) }
        case .many(var words, let count):
            guard !contains(number) else { return }
            storage = .few([])
            while words.count <= Int(number >> 6) { words.append(0) }
            words[Int(number >> 6)] |= 1 << UInt64(number & 63)
            storage = .many(words, count: count + 1)
        }
    }

    /// - Returns: Whether it was in the set.
    @discardableResult
    mutating func remove(_ number: UInt32) -> Bool {
        guard contains(number) else { return false }
        switch storage {
        case .few(var numbers):
            storage = .few([])
            numbers.remove(number)
            storage = .few(numbers)
        case .many(var words, let count):
            storage = .few([])
            words[Int(number >> 6)] &= ~(1 << UInt64(number & 63))
            storage = count == 1 ? .few([]) : .many(words, count: count - 1)
        }
        return true
    }

    /// In rising order.
    var sorted: [UInt32] {
        switch storage {
        case .few(let numbers): return numbers.sorted()
        case .many(let words, _):
            var numbers: [UInt32] = []
            for (index, word) in words.enumerated() {
                var rest = word
                while rest != 0 {
                    numbers.append(UInt32(index << 6 + rest.trailingZeroBitCount))
                    rest &= rest - 1
                }
            }
            return numbers
        }
    }

    static func == (a: TopicNumbers, b: TopicNumbers) -> Bool {
        if case (.few(let numbers), .few(let others)) = (a.storage, b.storage) { return numbers == others }
        return a.count == b.count && a.sorted == b.sorted
    }

    private static let fewMax = 4096

    private mutating func spread(_ numbers: Set<UInt32>) {
        let highest = numbers.max() ?? 0
        // Few of very many topics stay a hash set: eight bytes each against a bit for every topic.
        guard numbers.count * 64 > Int(highest) else { return }
        var words = [UInt64](repeating: 0, count: Int(highest >> 6) + 1)
        for number in numbers { words[Int(number >> 6)] |= 1 << UInt64(number & 63) }
        storage = .many(words, count: numbers.count)
    }
}
