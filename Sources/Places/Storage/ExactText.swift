import Glibc

/// A text as a key: two are the same when their bytes are. Swift compares strings by canonical equivalence, the wire by bytes.
struct ExactText: Hashable, Comparable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: Self, right: Self) -> Bool {
        left.text.withBytes { left in right.text.withBytes { left.equals($0) } }
    }

    static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: $0) }
    }
}

extension String {
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

extension UnsafeRawBufferPointer {
    func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        count == other.count && compare(other, upTo: count) == 0
    }

    /// The order of the bytes.
    func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        let order = compare(other, upTo: Swift.min(count, other.count))
        return order < 0 || order == 0 && count < other.count
    }

    private func compare(_ other: UnsafeRawBufferPointer, upTo count: Int) -> Int32 {
        guard count > 0, let left = baseAddress, let right = other.baseAddress else { return 0 }
        return memcmp(left, right, count)
    }
}
