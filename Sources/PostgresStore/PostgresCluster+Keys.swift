import Records
import Store

// Keys and datasets, which every node must know, whoever serves them.

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
