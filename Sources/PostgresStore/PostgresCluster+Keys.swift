import Records
import Store

// Keys, datasets and what these hold, which every node must know, regardless of who serves them.

extension PostgresCluster {
    /// One key of a dataset, or of all (`*`); nil where there is none.
    public func accessKey(_ id: String, of dataset: String) throws(StoreError) -> AccessKeyRecord? {
        try accessKeys("dataset = $1 AND id = $2", [.text(dataset), .text(id)]).first
    }

    /// All keys of a dataset, or of all.
    public func accessKeys(of dataset: String) throws(StoreError) -> [AccessKeyRecord] {
        try accessKeys("dataset = $1", [.text(dataset)])
    }

    /// All datasets, as of now where the store can be asked, else as of the last view. Not over the connection that renews leases.
    public var datasets: [DatasetRecord] {
        let present = try? keys.use { try PostgresLeases.datasets($0) }
        return present ?? leases.knownDatasets
    }

    /// What datasets hold, as their owners said last, by name; nothing where the store does not say it in time.
    public func contents(of datasets: [String]) -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        try? keys.use { connection in
            try connection.rows(
                "SELECT dataset, value FROM contents WHERE dataset = ANY ($1::text[]) AND value IS NOT NULL", [.words(datasets)]
            ) { contents[$0.word(0)] = $0.bytes(1) }
        }
        return contents
    }

    /// Takes what datasets hold, unless a later owner has said it already. Of those that are gone nothing is kept.
    public func write(_ contents: [SharedContents]) throws(StoreError) {
        let gone = contents.filter { $0.value == nil }
        let contents = contents.filter { $0.value != nil }
        try keys.use { connection in
            try connection.send(
                """
                DELETE FROM contents USING unnest($1::text[], $2::bigint[]) AS gone (dataset, epoch) \
                WHERE contents.dataset = gone.dataset AND contents.epoch <= gone.epoch
                """, [.words(gone.map(\.dataset)), .numbers(gone.map(\.epoch))])
            try connection.send(
                """
                INSERT INTO contents SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) \
                ON CONFLICT (dataset) DO UPDATE SET epoch = excluded.epoch, value = excluded.value \
                WHERE contents.epoch <= excluded.epoch
                """,
                [.words(contents.map(\.dataset)), .numbers(contents.map(\.epoch)), .words(contents.map(\.value))])
            try connection.finish()
        }
    }

    private func accessKeys(_ condition: String, _ values: [Value]) throws(StoreError) -> [AccessKeyRecord] {
        try keys.use { connection in
            var records: [AccessKeyRecord] = []
            try connection.rows("\(Kind.accessKey.statements.select) WHERE \(condition)", values) { row in
                var reader = RowReader(row)
                records.append(AccessKeyRecord(from: &reader))
            }
            return records
        }
    }
}

/// What a dataset holds, as the owner of its shard says.
public struct SharedContents: Sendable {
    public var dataset: String
    /// With which the owner has the shard.
    public var epoch: Int64
    /// JSON; nil: the dataset is gone.
    public var value: String?

    public init(dataset: String, epoch: Int64, value: String?) {
        self.dataset = dataset
        self.epoch = epoch
        self.value = value
    }
}
