/// A revision as it is compared: `N-<hash>`, the generation before the hash.
public struct RevisionID: Equatable, Comparable, Sendable {
    public let text: String
    /// 1…2^53.
    public let generation: Int64
    private let hash: Substring.UTF8View

    /// Bytes of the longest hash.
    package static let hashBytesMax = 64

    /// nil unless the text is a generation of 1…2^53 without leading zeros, a hyphen, and 1–64 of `A-Z a-z 0-9 . _ -`.
    public init?(_ text: String) {
        guard text.utf8.count <= 17 + Self.hashBytesMax, let hyphen = text.utf8.firstIndex(of: UInt8(ascii: "-")) else {
            return nil
        }
        let digits = text.utf8[..<hyphen]
        let hash = text.utf8[text.utf8.index(after: hyphen)...]
        guard (1...16).contains(digits.count), digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let generation = Int64(Substring(digits)), generation <= Revision.maximumGeneration,
            (1...Self.hashBytesMax).contains(hash.count), hash.allSatisfy(Self.isHashByte)
        else { return nil }
        self.text = text
        self.generation = generation
        self.hash = hash
    }

    private static func isHashByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    public static func == (left: Self, right: Self) -> Bool { left.text == right.text }

    /// By generation, then by the bytes of the hash.
    public static func < (left: Self, right: Self) -> Bool {
        if left.generation != right.generation { return left.generation < right.generation }
        return left.hash.lexicographicallyPrecedes(right.hash)
    }

    /// What deleting an object of this revision makes of it: the next generation, with a hash of what was deleted.
    public static func ofDeletion(after revision: String) -> String {
        Revision.next(after: revision, content: Array("deleted \(revision)".utf8))
    }
}
