import LiveTopics
import Matching
import Records

/// The floors of a dataset as numbers: equal where building and floor are.
struct Floors {
    /// What a live topic says of its floor.
    enum Place {
        case known(FloorRef)
        /// The building is known; which floor of it, `floorIndex` may say.
        case building
        case unknown
    }

    private var numbers = ByteKeyed<UInt32>()
    /// Which declared floors the indices of buildings mean, as of a state of the structure.
    private var declared = ByteKeyed<String?>()
    private var declaredAsOf: UInt32 = 0

    /// The floor that a live topic of seven encoded levels names.
    ///
    /// - Parameter maximum: Floors known at most; nil where there is no room for another.
    mutating func place(of topic: String, maximum: Int) -> Place? {
        let levels = topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard levels.count == 7, !levels[2].elementsEqual("-".utf8) else { return .unknown }
        guard !levels[3].elementsEqual("-".utf8) else { return .building }
        return number(Self.text(levels[1...3]), maximum).map { .known($0) }
    }

    /// The floor of the building that a live topic names, by its index: the one that the structure declares with it, else another
    /// than any that a topic names, as nothing says which name has which index.
    mutating func floor(_ index: Int, in topic: String, of structure: Structure, maximum: Int) -> FloorRef? {
        let levels = topic.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard levels.count == 7 else { return .unknown }
        // No encoded level has a #.
        let key = "\(Self.text(levels[1...2]))/#\(index)"
        guard structure.count(of: .floor) > 0 else { return number(key, maximum) }
        if declaredAsOf != structure.generation || declared.count >= maximum {
            declared.removeAll()
            declaredAsOf = structure.generation
        }
        if let known = declared[key] { return number(known ?? key, maximum) }
        let building = levels[1...2].compactMap { LevelCoding.decode($0) }
        let found = building.count == 2 ? structure.floor(index: index, below: building)?.path.structureKey : nil
        declared[key] = .some(found)
        return number(found ?? key, maximum)
    }

    /// The floor where the structure finds a position; `unknown` where building or floor is not known.
    mutating func floor(of whereabouts: Whereabouts, maximum: Int) -> FloorRef? {
        guard whereabouts.building != nil, whereabouts.floor != nil else { return .unknown }
        return number(Array(whereabouts.levels.prefix(3)).structureKey, maximum)
    }

    private mutating func number(_ key: String, _ maximum: Int) -> FloorRef? {
        if let number = numbers[key] { return FloorRef(number: number) }
        guard numbers.count < maximum, let number = UInt32(exactly: numbers.count + 1) else { return nil }
        numbers[key] = number
        return FloorRef(number: number)
    }

    private static func text(_ levels: ArraySlice<Substring.UTF8View>) -> String {
        levels.map { String(Substring($0)) }.joined(separator: "/")
    }
}
