internal import Foundation

/// Revisions of what is written here: `N-<hash>`, of the same shape as the daemon's.
enum LocalRevision {
    private static let generationMax: Int64 = 1 << 53

    /// The next generation, with a 64-bit FNV-1a hash of what it was made from and of what it says.
    static func next(after revision: String?, content: Data, isDeleted: Bool) -> String {
        let generation = min(revision.flatMap(generation(of:)) ?? 0, generationMax - 1) + 1
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in (revision ?? "").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        for byte in content { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ (isDeleted ? 1 : 0)) &* 0x100_0000_01b3
        let digits = String(hash, radix: 16)
        return "\(generation)-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    static func generation(of revision: String) -> Int64? {
        revision.firstIndex(of: "-").flatMap { Int64(revision[..<$0]) }
    }
}
