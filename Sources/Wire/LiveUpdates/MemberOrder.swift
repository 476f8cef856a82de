/// Finds out, for an object that may name a key twice, which member counts: the last.
struct MemberOrder {
    private let object: JSONNode
    private var last: [ExactKey: UInt] = [:]
    private let isIndexed: Bool

    /// Up to so many members are compared with each other; beyond, a hostile payload would make that expensive.
    private static let scannedMax = 24

    init(_ object: JSONNode) {
        self.object = object
        isIndexed = object.count > Self.scannedMax
        if isIndexed {
            for (key, _) in object.members { last[ExactKey(bytes: key.utf8)] = UInt(bitPattern: key.node) }
        }
    }

    /// Whether no later member of the object has the same key.
    func isLast(_ key: JSONNode) -> Bool {
        if isIndexed { return last[ExactKey(bytes: key.utf8)] == UInt(bitPattern: key.node) }
        for (other, _) in object.members where other.node > key.node && other.isEqual(to: key.utf8) { return false }
        return true
    }

    /// Whether the object has a member with the key of another object.
    func contains(_ key: JSONNode) -> Bool {
        if isIndexed { return last[ExactKey(bytes: key.utf8)] != nil }
        return object.members.contains { $0.key.isEqual(to: key.utf8) }
    }
}

/// A key by its bytes, for as long as its node lives.
private struct ExactKey: Hashable {
    let bytes: UnsafeBufferPointer<UInt8>

    static func == (left: ExactKey, right: ExactKey) -> Bool {
        left.bytes.elementsEqual(right.bytes)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
    }
}
