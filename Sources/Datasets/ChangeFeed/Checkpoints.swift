import Records

/// How far the clients of a dataset have replicated.
///
/// Where there is no room for one more, the one that was written longest ago goes: whose replication it was begins anew, and is
/// right.
struct Checkpoints {
    /// Bytes of the longest.
    static let bytesMaximum = 64 << 10
    /// Bytes of the longest name.
    static let idBytesMaximum = 512
    /// Of one client.
    static let countMaximum = 1000
    static let clientBytesMaximum = 4 << 20
    /// Of the dataset.
    static let datasetBytesMaximum = 64 << 20

    private struct Own {
        var records: [ByteKey: CheckpointRecord] = [:]
        var bytes = 0
    }

    private var byClient: [String: Own] = [:]
    private var bytes = 0

    subscript(client: String, id: String) -> CheckpointRecord? { byClient[client]?.records[ByteKey(id)] }

    mutating func insert(_ record: CheckpointRecord) {
        remove(client: record.client, id: record.id)
        byClient[record.client, default: Own()].records[ByteKey(record.id)] = record
        count(record, by: 1)
    }

    mutating func remove(client: String, id: String) {
        guard let record = byClient[client]?.records.removeValue(forKey: ByteKey(id)) else { return }
        count(record, by: -1)
        if byClient[client]?.records.isEmpty == true { byClient[client] = nil }
    }

    private mutating func count(_ record: CheckpointRecord, by step: Int) {
        let weight = step * (record.body.count + record.id.utf8.count)
        bytes += weight
        byClient[record.client]?.bytes += weight
    }

    /// What must go so that all maxima hold again after a client wrote one; nil: nothing.
    func excess(afterWriteOf written: CheckpointRecord) -> CheckpointRecord? {
        guard let own = byClient[written.client] else { return nil }
        if own.records.count > Self.countMaximum || own.bytes > Self.clientBytesMaximum {
            return Self.oldest(of: own.records.values, but: written)
        }
        guard bytes > Self.datasetBytesMaximum else { return nil }
        return Self.oldest(of: byClient.values.lazy.flatMap(\.records.values), but: written)
    }

    private static func oldest(of records: some Sequence<CheckpointRecord>, but written: CheckpointRecord) -> CheckpointRecord? {
        records.filter { $0.client != written.client || !$0.id.hasSameBytes(as: written.id) }
            .min { ($0.at, $0.client, $0.id) < ($1.at, $1.client, $1.id) }
    }
}
