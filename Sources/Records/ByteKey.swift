/// A text as a key: two are the same when their bytes are.
///
/// Swift compares strings by canonical equivalence, brokers and the store by bytes: `é` has two forms, and each of them
/// can name another device.
package struct ByteKey: Hashable, Comparable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ByteKey, right: ByteKey) -> Bool {
        left.text.withBytes { left in right.text.withBytes { left.isEqual(to: $0) } }
    }

    /// The order lists have, and the store.
    package static func < (left: ByteKey, right: ByteKey) -> Bool {
        left.text.withBytes { left in right.text.withBytes { left.precedes($0) } }
    }

    package func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: $0) }
    }
}

/// A dictionary whose keys are compared by their bytes.
package struct ByteKeyed<Value> {
    private var entries: [ByteKey: Value] = [:]

    package init() {}

    package subscript(key: String) -> Value? {
        get { entries[ByteKey(key)] }
        _modify { yield &entries[ByteKey(key)] }
    }

    package subscript(key: String, or initial: @autoclosure () -> Value) -> Value {
        get { self[key] ?? initial() }
        _modify { yield &entries[ByteKey(key), default: initial()] }
    }

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }
    /// In no order.
    package var keys: some Collection<String> { entries.keys.lazy.map(\.text) }

    package mutating func removeValue(forKey key: String) -> Value? { entries.removeValue(forKey: ByteKey(key)) }
    package mutating func removeAll() { entries.removeAll() }
}

extension String {
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    package func hasSameBytes(as other: String) -> Bool { ByteKey(self) == ByteKey(other) }
}

extension UnsafeRawBufferPointer {
    /// Eight bytes at a time: topics of fifty bytes are compared with every update.
    package func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var offset = 0
        while offset + 8 <= count {
            guard
                loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                    == other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            else { return false }
            offset += 8
        }
        while offset < count {
            guard self[offset] == other[offset] else { return false }
            offset += 1
        }
        return true
    }

    fileprivate func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        let common = Swift.min(count, other.count)
        var offset = 0
        while offset + 8 <= common {
            let left = UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let right = UInt64(bigEndian: other.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            if left != right { return left < right }
            offset += 8
        }
        while offset < common {
            if self[offset] != other[offset] { return self[offset] < other[offset] }
            offset += 1
        }
        return count < other.count
    }
}
