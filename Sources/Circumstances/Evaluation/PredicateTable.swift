/// Each comparison of a place's id, category or chain that any expression makes, once, with a number.
struct PredicateTable {
    /// Every place.
    static let any: UInt32 = 0

    struct Predicate: Hashable {
        let key: IdentityKey
        let value: IdentityText
    }

    private var numbers: [Predicate: UInt32] = [:]
    private var uses: [Int] = [1]
    private var predicates: [Predicate?] = [nil]
    private var free: [UInt32] = []
    private var unused = 0

    /// What nobody uses is kept, up to here: it will be asked for again.
    private static let unusedMax = 4096

    /// One past the highest number.
    var end: Int { uses.count }

    /// The number of a predicate, and whether it is new. Each call is undone by one of ``release(_:)``.
    mutating func retain(_ key: IdentityKey, _ value: String) -> (number: UInt32, isNew: Bool) {
        let predicate = Predicate(key: key, value: IdentityText(value))
        if let number = numbers[predicate] {
            if uses[Int(number)] == 0 { unused -= 1 }
            uses[Int(number)] += 1
            return (number, false)
        }
        let number = free.popLast() ?? UInt32(truncatingIfNeeded: uses.count)
        if Int(number) == uses.count {
            predicates.append(predicate)
            uses.append(1)
        } else {
            predicates[Int(number)] = predicate
            uses[Int(number)] = 1
        }
        numbers[predicate] = number
        return (number, true)
    }

    /// Whether unused numbers were given up, so that they may come to mean something else.
    mutating func release(_ number: UInt32) -> Bool {
        guard number != Self.any else { return false }
        uses[Int(number)] -= 1
        if uses[Int(number)] == 0 { unused += 1 }
        guard unused > Self.unusedMax else { return false }
        for (number, predicate) in predicates.enumerated() where uses[number] == 0 {
            guard let predicate else { continue }
            numbers[predicate] = nil
            predicates[number] = nil
            free.append(UInt32(truncatingIfNeeded: number))
        }
        unused = 0
        return true
    }

    func number(_ key: IdentityKey, _ value: String) -> UInt32? { numbers[Predicate(key: key, value: IdentityText(value))] }

    subscript(number: UInt32) -> Predicate? { predicates[Int(number)] }

    /// Whether it is true of one place only, the one with an id.
    func isName(_ number: UInt32) -> Bool { self[number]?.key == .place }

    /// The predicates that are true of a place, without ``any``.
    func profile(of facts: PlaceFacts) -> [UInt32] {
        guard !numbers.isEmpty else { return [] }
        var profile: [UInt32] = []
        func add(_ key: IdentityKey, _ value: String) {
            if let number = number(key, value), !profile.contains(number) { profile.append(number) }
        }
        add(.place, facts.id)
        for category in facts.categoryIDs {
            add(.category, category)
            add(.exactCategory, category)
        }
        for category in facts.ancestorIDs { add(.category, category) }
        if let chain = facts.chainID { add(.chain, chain) }
        return profile
    }
}
