import EngineMemory

/// Blocks of whole 8-byte words on pages of a megabyte, for texts and outlines. A block never moves.
///
/// What is given back is used again for blocks of the same size; sizes above 64 words are rounded up to eighths of a power of
/// two, so that there are few of them.
struct WordArena: ~Copyable {
    private var pages: [UnsafeMutablePointer<UInt64>] = []
    /// What pages were cut from.
    private var slabs: [UnsafeMutablePointer<UInt64>] = []
    private var slabWords = 0
    /// How many words the first page has; every other one is whole.
    private var firstWords = 0
    /// The first word of the last page that was never used.
    private var next = 0
    private var free: [Int: [UInt32]] = [:]
    private(set) var wordsInUse = 0
    /// Blocks begin at multiples of so many words, which references count.
    private let granuleBits: Int

    /// 2^17 words.
    private static let pageBits = 17
    /// The longest block in words.
    static let longest = 1 << pageBits
    /// From so many pages on they come so many at a time, on memory of 2 MB pages.
    private static let slabPages = 16

    /// - Parameter granuleBits: 0: references are as many as there can be. 3: blocks begin at cache lines.
    init(granuleBits: Int = 0) { self.granuleBits = granuleBits }

    deinit {
        for slab in slabs { BigMemory.release(slab) }
    }

    /// Of what was never used only what the last page has.
    var bytes: Int {
        guard pages.count > 1 else { return firstWords * 8 }
        return (firstWords + ((pages.count - 1) << Self.pageBits)) * 8
    }

    private func rounded(_ words: Int) -> Int {
        var size = max(1, words)
        if size > 64 {
            let step = 1 << (Int.bitWidth - size.leadingZeroBitCount - 4)
            size = (size + step - 1) & ~(step - 1)
        }
        let granule = 1 << granuleBits
        return (size + granule - 1) & ~(granule - 1)
    }

    /// - Parameters:
    ///   - words: At most ``longest``.
    ///   - referenceBits: How many bits the reference may have.
    /// - Returns: nil where the arena has as many pages as references reach.
    mutating func take(_ words: Int, referenceBits: Int = 32) -> UInt32? {
        let size = rounded(words)
        if let block = free[size]?.popLast() {
            wordsInUse += size
            return block
        }
        if pages.isEmpty || next + size > (pages.count == 1 ? firstWords : Self.longest) {
            guard makeRoom(for: size, pagesMax: 1 << (referenceBits - Self.pageBits + granuleBits)) else { return nil }
        }
        let block = UInt32(truncatingIfNeeded: ((pages.count - 1) << Self.pageBits | next) >> granuleBits)
        next += size
        wordsInUse += size
        return block
    }

    mutating func give(_ block: UInt32, words: Int) {
        let size = rounded(words)
        wordsInUse -= size
        free[size, default: []].append(block)
    }

    /// The only page of a small arena grows.
    private mutating func makeRoom(for size: Int, pagesMax: Int) -> Bool {
        if pages.count <= 1, firstWords < Self.longest, next + size <= Self.longest {
            let words = min(Self.longest, max(firstWords * 2, next + size, 64))
            let page = Self.memory(words)
            if let former = pages.first {
                page.update(from: former, count: next)
                BigMemory.release(former)
            }
            pages = [page]
            slabs = [page]
            firstWords = words
            return true
        }
        guard pages.count < pagesMax else { return false }
        if pages.count < Self.slabPages {
            slabs.append(Self.memory(Self.longest))
            pages.append(slabs[slabs.count - 1])
        } else {
            if slabWords == 0 {
                slabWords = Self.slabPages << Self.pageBits
                slabs.append(Self.memory(slabWords))
            }
            pages.append(slabs[slabs.count - 1] + ((Self.slabPages << Self.pageBits) - slabWords))
            slabWords -= Self.longest
        }
        next = 0
        return true
    }

    private static func memory(_ words: Int) -> UnsafeMutablePointer<UInt64> {
        BigMemory.allocate(bytes: words * 8).bindMemory(to: UInt64.self, capacity: words)
    }

    /// Where a block is, until the next one is taken.
    @inline(__always)
    func address(of block: UInt32) -> UnsafeMutablePointer<UInt64> {
        let word = Int(block) << granuleBits
        return pages[word >> Self.pageBits] + (word & (Self.longest - 1))
    }
}
