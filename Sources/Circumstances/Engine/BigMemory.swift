import Glibc

/// Memory the engine owns itself. Blocks of megabytes ask for 2 MB pages: a random look into them costs one miss then, not two.
enum BigMemory {
    private static let hugePage = 2 << 20

    static func allocate(bytes: Int) -> UnsafeMutableRawPointer {
        let isHuge = bytes >= 2 * hugePage
        var memory: UnsafeMutableRawPointer?
        let failure = posix_memalign(&memory, isHuge ? hugePage : 64, max(bytes, 64))
        guard failure == 0, let memory else { fatalError("No memory for \(bytes) bytes of circumstances") }
        if isHuge { _ = madvise(memory, bytes, MADV_HUGEPAGE) }
        return memory
    }

    static func release(_ memory: UnsafeMutableRawPointer) { free(memory) }
}
