import CSimdJSON

/// One value of a parsed payload: a pointer into the parser's nodes, valid only inside ``JSONParser/parse(_:padded:_:)``.
public struct JSONNode {
    /// What the value is.
    public enum Kind: UInt32, Sendable {
        case null = 0
        case bool = 1
        case integer = 2
        case double = 3
        case string = 4
        case array = 5
        case object = 6
    }

    let node: UnsafePointer<geomatch_json_node>

    @inline(__always)
    init(_ node: UnsafePointer<geomatch_json_node>) {
        self.node = node
    }

    @inline(__always)
    public var kind: Kind { Kind(rawValue: node.pointee.kind) ?? .null }

    /// The value of an integer within `Int64`; a longer one is a double.
    @inline(__always)
    public var asInt64: Int64? {
        kind == .integer ? Int64(bitPattern: node.pointee.value) : nil
    }

    /// The value of any number; always finite.
    @inline(__always)
    public var asDouble: Double? {
        switch kind {
        case .integer: Double(Int64(bitPattern: node.pointee.value))
        case .double: Double(bitPattern: node.pointee.value)
        default: nil
        }
    }

    public var asBool: Bool? {
        kind == .bool ? node.pointee.value != 0 : nil
    }

    public var asString: String? {
        kind == .string ? String(decoding: utf8, as: UTF8.self) : nil
    }

    /// The bytes of a string, empty for anything else; not longer valid than the node.
    @inline(__always)
    public var utf8: UnsafeBufferPointer<UInt8> {
        guard kind == .string else { return UnsafeBufferPointer(start: nil, count: 0) }
        return UnsafeBufferPointer(
            start: UnsafePointer(bitPattern: UInt(node.pointee.value)), count: Int(node.pointee.count))
    }

    @inline(__always)
    public var isContainer: Bool { node.pointee.kind >= Kind.array.rawValue }

    /// Elements of an array, members of an object (duplicates counted), 0 for anything else.
    public var count: Int {
        isContainer ? Int(node.pointee.count) : 0
    }

    /// The elements of an array; none for anything else.
    public var elements: Elements { Elements(self) }

    /// The members of an object in the order of the payload, duplicates included; none for anything else.
    @inline(__always)
    public var members: Members { Members(self) }

    /// The value of an object's member, the last one where the key is there more than once.
    public subscript(key: String) -> JSONNode? {
        var key = key
        return key.withUTF8 { wanted in
            var found: JSONNode?
            for member in members where member.key.isEqual(to: wanted) { found = member.value }
            return found
        }
    }

    /// Whether a string has exactly these bytes.
    @inline(__always)
    func isEqual(to literal: StaticString) -> Bool {
        kind == .string && Int(node.pointee.count) == literal.utf8CodeUnitCount
            && geomatch_json_same(utf8.baseAddress, literal.utf8Start, literal.utf8CodeUnitCount)
    }

    func isEqual(to bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard kind == .string, Int(node.pointee.count) == bytes.count else { return false }
        return bytes.isEmpty || geomatch_json_same(utf8.baseAddress, bytes.baseAddress, bytes.count)
    }

    /// The node behind this one's subtree.
    @inline(__always)
    fileprivate var following: UnsafePointer<geomatch_json_node> {
        isContainer ? node + Int(node.pointee.value) : node + 1
    }
}

extension JSONNode {
    /// The elements of an array.
    public struct Elements: Sequence, IteratorProtocol {
        private var upcoming: UnsafePointer<geomatch_json_node>
        private let end: UnsafePointer<geomatch_json_node>

        init(_ array: JSONNode) {
            upcoming = array.node + 1
            end = array.kind == .array ? array.following : array.node + 1
        }

        public mutating func next() -> JSONNode? {
            guard upcoming < end else { return nil }
            let element = JSONNode(upcoming)
            upcoming = element.following
            return element
        }
    }

    /// The members of an object; `key` is a string node.
    public struct Members: Sequence, IteratorProtocol {
        private var upcoming: UnsafePointer<geomatch_json_node>
        private let end: UnsafePointer<geomatch_json_node>

        @inline(__always)
        init(_ object: JSONNode) {
            upcoming = object.node + 1
            end = object.kind == .object ? object.following : object.node + 1
        }

        @inline(__always)
        public mutating func next() -> (key: JSONNode, value: JSONNode)? {
            guard upcoming < end else { return nil }
            let value = JSONNode(upcoming + 1)
            defer { upcoming = value.following }
            return (JSONNode(upcoming), value)
        }
    }
}
