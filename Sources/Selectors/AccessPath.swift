/// A way to find the publications a selector may be TRUE of: it can be TRUE only of those that carry one of these keys.
///
/// Which keys a publication carries is said by ``Properties/forEachKey(_:_:)``.
public struct AccessPath: Equatable, Sendable {
    /// What a path rests on, from wide to narrow.
    public enum Kind: Int, Comparable, Sendable {
        /// A property is there.
        case presence
        /// A number between two others.
        case range
        /// One of a few values.
        case equality

        public static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    /// What a publication has to look up to find its way to a path: a name, and the level of a range.
    struct Shape: Equatable, Sendable {
        var name: UInt64
        /// nil: no range.
        var level: Int?
    }

    /// 1…``mostKeys`` keys, in order.
    public let keys: [UInt64]
    public let kind: Kind
    let shapes: [Shape]

    /// A bit for each of its keys, see ``Properties/accessSignature``.
    public var signature: UInt32 { keys.reduce(0) { $0 | AccessKey.bit($1) } }

    /// The most keys of one path.
    public static let mostKeys = 8

    /// nil: too many keys.
    init?(_ kind: Kind, _ parts: [(key: UInt64, shape: Shape)]) {
        let keys = Set(parts.map(\.key)).sorted()
        guard !keys.isEmpty && keys.count <= AccessPath.mostKeys else { return nil }
        self.keys = keys
        self.kind = kind
        var shapes: [Shape] = []
        for part in parts where !shapes.contains(part.shape) { shapes.append(part.shape) }
        self.shapes = shapes
    }

    private init(_ kind: Kind, _ keys: [UInt64], _ shapes: [Shape]) {
        self.kind = kind
        self.keys = keys
        self.shapes = shapes
    }

    /// A path for what is TRUE where one of these is; nil: too many keys.
    static func union(_ paths: [AccessPath]) -> AccessPath? {
        let keys = Set(paths.flatMap(\.keys)).sorted()
        guard let kind = paths.map(\.kind).min(), keys.count <= mostKeys else { return nil }
        var shapes: [Shape] = []
        for shape in paths.flatMap(\.shapes) where !shapes.contains(shape) { shapes.append(shape) }
        return AccessPath(kind, keys, shapes)
    }
}

extension Selector {
    /// The paths to what this selector may be TRUE of, the narrowest kind first, at most four; none: it may be TRUE of anything.
    ///
    /// Reads the text anew; meant for when a selector comes into use, not for matching.
    public func accessPaths() -> [AccessPath] {
        guard !matchesAll, var parser = try? Parser(Array(normalised.unicodeScalars)), let expression = try? parser.parse() else {
            return []
        }
        return AccessPlan(expression).paths
    }
}
