/// Which part of a service a dataset belongs to.
///
/// The numbers are in stores and in sessions at brokers: they never change.
public enum Sharding {
    public static let count = 64

    /// The shard of a dataset, 0 ..< ``count``.
    public static func shard(of dataset: String) -> Int { Int(mix(hash(dataset)) % UInt64(count)) }

    /// FNV-1a, 64 bits. Source: G. Fowler, L. C. Noll, K.-P. Vo, "The FNV Non-Cryptographic Hash Algorithm".
    static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// Has every bit depend on every other: names that differ in their last letter are far apart. Source: the finalizer of
    /// G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    static func mix(_ bits: UInt64) -> UInt64 {
        var mixed = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Rendezvous hashing: every node scores every shard, and the highest score wins.
///
/// Who knows the same nodes knows the same winner, and a node that comes or goes changes no winner among the others. Source: D. Thaler,
/// C. Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on Networking 6(1), 1998.
public enum Rendezvous {
    public static func score(of node: String, for shard: Int) -> UInt64 {
        Sharding.mix(Sharding.hash(node) ^ Sharding.mix(UInt64(bitPattern: Int64(shard)) &+ 0x9E37_79B9_7F4A_7C15))
    }

    /// - Returns: nil where there is no node.
    public static func winner(of shard: Int, among nodes: [String]) -> String? {
        nodes.max { (score(of: $0, for: shard), $0) < (score(of: $1, for: shard), $1) }
    }
}
