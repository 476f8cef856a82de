/// Finds the row of a table by the bytes of its key: open addressing over 8-byte slots that hold a part of the key's hash above the
/// row's number, so that nearly every wrong slot is recognised without a look at its row.
struct RowIndex {
    /// 0: vacant. Rows are numbered from 1 on.
    private var slots: [UInt64] = []
    private(set) var count = 0

    private static let rowBits: UInt64 = 36
    /// The highest row that fits.
    static let rowMax = Int64(1) << 36 - 1

    static func hash(_ key: String) -> UInt64 {
        var key = key
        return key.withUTF8 { bytes in
            var hasher = Hasher()
            hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
            return UInt64(truncatingIfNeeded: hasher.finalize())
        }
    }

    private static func slot(_ hash: UInt64, _ row: Int64) -> UInt64 {
        hash << rowBits | UInt64(truncatingIfNeeded: row) & (1 << rowBits - 1)
    }

    private static func row(_ slot: UInt64) -> Int64 { Int64(slot & (1 << rowBits - 1)) }

    /// Only of what a slot keeps of the hash, so that growing needs no key.
    private func home(_ slot: UInt64) -> Int {
        Int(((slot >> Self.rowBits) &* UInt64(slots.count)) >> (64 - Self.rowBits))
    }

    /// - Parameter matches: Whether a row has the wanted key.
    func find(_ hash: UInt64, _ matches: (Int64) throws -> Bool) rethrows -> Int64? {
        guard !slots.isEmpty else { return nil }
        let wanted = Self.slot(hash, 0)
        var place = home(wanted)
        while slots[place] != 0 {
            if slots[place] ^ wanted < 1 << Self.rowBits, try matches(Self.row(slots[place])) { return Self.row(slots[place]) }
            place = place + 1 == slots.count ? 0 : place + 1
        }
        return nil
    }

    /// Enters a row whose key is not in it, from 1 up to ``rowMax``.
    mutating func insert(_ row: Int64, hash: UInt64) {
        if (count + 1) * 5 > slots.count * 4 { grow() }
        put(Self.slot(hash, row))
        count += 1
    }

    private mutating func put(_ slot: UInt64) {
        var place = home(slot)
        while slots[place] != 0 { place = place + 1 == slots.count ? 0 : place + 1 }
        slots[place] = slot
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: 0, count: max(8, old.count < 1 << 16 ? old.count * 2 : old.count + old.count / 2))
        for slot in old where slot != 0 { put(slot) }
    }

    mutating func remove(_ row: Int64, hash: UInt64) {
        guard !slots.isEmpty else { return }
        let wanted = Self.slot(hash, row)
        var hole = home(wanted)
        while slots[hole] != wanted {
            guard slots[hole] != 0 else { return }
            hole = hole + 1 == slots.count ? 0 : hole + 1
        }
        count -= 1
        // What follows moves up, so that no search ends too early.
        var next = hole
        while true {
            next = next + 1 == slots.count ? 0 : next + 1
            guard slots[next] != 0 else { break }
            let home = home(slots[next])
            let isBetween = hole <= next ? hole < home && home <= next : hole < home || home <= next
            if isBetween { continue }
            slots[hole] = slots[next]
            hole = next
        }
        slots[hole] = 0
    }

    /// All rows, in no order.
    var rows: [Int64] { slots.lazy.filter { $0 != 0 }.map { Self.row($0) } }
}
