import EngineMemory

/// Finds a number by the bytes of an id.
struct IDIndex: ~Copyable {
    private var numbers = OpenTable<NumberSlot>(fullness: 70)

    init() {}

    deinit { numbers.deallocate() }

    var count: Int { numbers.count }
    var bytes: Int { numbers.bytes }

    static func hash(_ id: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: id)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    /// Asks for the memory a search will look at.
    @inline(__always)
    func prefetch(_ hash: UInt32) { numbers.prefetch(hash) }

    /// - Parameter matches: Whether the id of a number is the wanted one.
    func find(_ hash: UInt32, _ matches: (UInt32) -> Bool) -> UInt32? { numbers.find(hash, where: matches)?.pointee.number }

    /// Enters a number whose id is not in it; the number is never `UInt32.max`.
    mutating func insert(_ number: UInt32, hash: UInt32) { numbers.insert(NumberSlot(number, hash: hash)) }

    mutating func remove(_ hash: UInt32, _ matches: (UInt32) -> Bool) {
        if let slot = numbers.find(hash, where: matches) { numbers.remove(slot) }
    }
}
