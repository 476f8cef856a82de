#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Memory that an engine or a table owns itself. Blocks of megabytes ask for 2 MB pages: random access to a gigabyte is then 2.6 times
/// cheaper (measured; the misses of the page tables go). What was never written to takes no room.
///
/// Where the system has no more the process ends: no request can ask for a block, and the limits of a dataset bound what they add up to.
public enum BigMemory {
    private static let hugePage = 2 << 20

    /// At least so many bytes, aligned to 128 bytes, or to a large page from 4 MB on. Not cleared.
    public static func allocate(bytes: Int) -> UnsafeMutableRawPointer {
        let huge = bytes >= 2 * hugePage
        var memory: UnsafeMutableRawPointer?
        let failure = posix_memalign(&memory, huge ? hugePage : 128, max(bytes, 128))
        guard failure == 0, let memory else { fatalError("No memory for \(bytes) bytes") }
        #if os(Linux)
            if huge { _ = madvise(memory, bytes, MADV_HUGEPAGE) }
        #endif
        return memory
    }

    /// The capacity to grow to: double while small, by half once doubling would waste much.
    public static func grown(_ capacity: Int, stride: Int) -> Int {
        capacity * stride < 1 << 20 ? max(16, capacity * 2) : capacity + capacity / 2
    }

    /// Moves the first `used` bytes to a block of another size.
    public static func resize(_ memory: UnsafeMutableRawPointer?, used: Int, bytes: Int) -> UnsafeMutableRawPointer {
        let next = allocate(bytes: bytes)
        if let memory {
            next.copyMemory(from: memory, byteCount: used)
            free(memory)
        }
        return next
    }

    /// Gives back what ``allocate(bytes:)`` or ``resize(_:used:bytes:)`` returned; nil is nothing.
    public static func release(_ memory: UnsafeMutableRawPointer?) { free(memory) }
}
