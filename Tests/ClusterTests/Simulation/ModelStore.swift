import Cluster
import MemoryStore

/// The store of a cluster: its leases, and the requests that were carried out, each with the match that followed from it.
final class ModelStore {
    struct Row {
        var request: Int
        /// Given once, by the node that carried the request out.
        var match: String
    }

    let leases = MemoryLeases()
    private let isFenced: Bool
    private(set) var rows: [[Row]] = Array(repeating: [], count: Sharding.count)
    /// Who committed with each epoch of a shard.
    private var committers: [[Int64: String]] = Array(repeating: [:], count: Sharding.count)
    private(set) var violations: [String] = []

    init(isFenced: Bool) { self.isFenced = isFenced }

    /// One transaction, which only the owner of the present epoch may make. Made again it comes to the same.
    ///
    /// - Returns: The match; nil where the epoch is not the present one.
    func commit(_ request: Int, shard: Int, epoch: Int64, node: String) -> String? {
        guard !isFenced || leases.holds(shard, epoch: epoch) else { return nil }
        if let known = rows[shard].first(where: { $0.request == request }) { return known.match }
        let other = committers[shard].updateValue(node, forKey: epoch)
        if let other, other != node { violations.append("\(other) and \(node) committed to \(shard) with epoch \(epoch)") }
        if let last = committers[shard].keys.max(), last > epoch {
            violations.append("\(node) committed to \(shard) with epoch \(epoch), behind \(last)")
        }
        let row = Row(request: request, match: "\(node) \(epoch) \(request)")
        rows[shard].append(row)
        return row.match
    }

    func has(_ request: Int, shard: Int) -> Bool { rows[shard].contains { $0.request == request } }
}
