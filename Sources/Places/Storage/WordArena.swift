/// Blocks of whole 8-byte words on pages of a megabyte, for texts and outlines. A block never moves.
///
/// What is given back is used again for blocks of the same size; sizes above 64 words are rounded up to eighths of a power of
/// two, so that there are few of them.
struct WordArena: ~Copyable {
    private var pages: [UnsafeMutablePointer<UInt64>] = []
    private var pageWords: [Int] = []
    /// The first word of the last page that was never used.
    private var next = 0
    private var free: [Int: [UInt32]] = [:]
    private(set) var wordsInUse = 0

    /// 2^17 words.
    private static let pageBits = 17
    /// The longest block in words.
    static let longest = 1 << pageBits

    init() {}

    deinit {
        for page in pages { Memory.release(page) }
    }

    var bytes: Int { pageWords.reduce(0) { $0 + $1 * 8 } }

    private static func rounded(_ words: Int) -> Int {
        guard words > 64 else { return max(1, words) }
        let step = 1 << (Int.bitWidth - words.leadingZeroBitCount - 4)
        return (words + step - 1) & ~(step - 1)
    }

    /// - Parameter words: At most ``longest``.
    /// - Returns: nil where the arena has as many pages as its references reach, 32 GiB.
    mutating func take(_ words: Int) -> UInt32? {
        let size = Self.rounded(words)
        if let block = free[size]?.popLast() {
            wordsInUse += size
            return block
        }
        if pages.isEmpty || next + size > pageWords[pages.count - 1] {
            guard makeRoom(for: size) else { return nil }
        }
        let block = UInt32(truncatingIfNeeded: (pages.count - 1) << Self.pageBits | next)
        next += size
        wordsInUse += size
        return block
    }

    mutating func give(_ block: UInt32, words: Int) {
        let size = Self.rounded(words)
        wordsInUse -= size
        free[size, default: []].append(block)
    }

    /// The only page of a small arena grows; every other one is whole from the start.
    private mutating func makeRoom(for size: Int) -> Bool {
        let whole = 1 << Self.pageBits
        if pages.count == 1, pageWords[0] < whole, next + size <= whole {
            let words = min(whole, max(pageWords[0] * 2, next + size))
            let page = Memory.allocate(bytes: words * 8).bindMemory(to: UInt64.self, capacity: words)
            page.update(from: pages[0], count: next)
            Memory.release(pages[0])
            pages[0] = page
            pageWords[0] = words
            return true
        }
        guard pages.count < 1 << (32 - Self.pageBits) else { return false }
        let words = pages.isEmpty ? min(whole, max(64, size)) : whole
        pages.append(Memory.allocate(bytes: words * 8).bindMemory(to: UInt64.self, capacity: words))
        pageWords.append(words)
        next = 0
        return true
    }

    /// Where a block is, until the next one is taken.
    @inline(__always)
    func address(of block: UInt32) -> UnsafeMutablePointer<UInt64> {
        let page = pages[Int(block >> UInt32(Self.pageBits))]
        return page + Int(block & (1 << UInt32(Self.pageBits) - 1))
    }
}
