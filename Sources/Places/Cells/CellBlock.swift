import EngineMemory

/// Eight by eight cells.
struct CellBlock: OpenSlot {
    /// 0: vacant.
    var key: UInt64
    /// Which cells are occupied, a bit each, row by row.
    var mask: UInt64
    /// Where the occupied ones lie, one after the other in the order of their bits.
    var cells: UInt32

    static let vacant = CellBlock(key: 0, mask: 0, cells: 0)
    @inline(__always) var isVacant: Bool { key == 0 }
    @inline(__always) var hash: UInt64 { Self.hash(of: key) }

    /// Another one in each process: nobody can choose places whose cells collide.
    private static let seed = UInt64.random(in: .min ... .max)

    @inline(__always)
    static func hash(of cell: UInt64) -> UInt64 {
        let key = cell ^ seed
        return ((key &* 0x9E37_79B9_7F4A_7C15) ^ (key >> 21)) &* 0xBF58_476D_1CE4_E5B9
    }

    /// How many occupied cells lie before the one with this bit.
    @inline(__always)
    func rank(of bit: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: (mask & (bit &- 1)).nonzeroBitCount) }
}

extension OpenTable<CellBlock> {
    @inline(__always)
    func block(_ key: UInt64) -> UnsafeMutablePointer<CellBlock>? { find(CellBlock.hash(of: key)) { $0.key == key } }
}
