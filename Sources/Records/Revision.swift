/// `N-<hash>`: the generation and a 64-bit FNV-1a hash of what the object then said.
package enum Revision {
    package static let maximumGeneration: Int64 = 1 << 53

    package static func next(after revision: String?, content: [UInt8]) -> String {
        let generation = min(revision.flatMap(generation(of:)) ?? 0, maximumGeneration - 1) + 1
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in content {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        let digits = String(hash, radix: 16)
        return "\(generation)-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Whether two revisions have the same hash: they say the same of what is hashed without its revision.
    package static func saysTheSame(_ left: String, _ right: String) -> Bool {
        let left = left.utf8.drop { $0 != UInt8(ascii: "-") }
        return !left.isEmpty && left.elementsEqual(right.utf8.drop { $0 != UInt8(ascii: "-") })
    }

    package static func generation(of revision: String) -> Int64? {
        revision.firstIndex(of: "-").flatMap { Int64(revision[..<$0]) }
    }
}
