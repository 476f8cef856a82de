import GRDB
import Records

extension Store {
    /// The newest matches of a device, oldest first.
    ///
    /// - Parameters:
    ///   - after: The id of a match among the device's newest hundred: the first `limit` after it. Without it, the newest `limit`.
    ///   - limit: 1…100; others are brought into these bounds.
    /// - Returns: nil where `after` is not among the newest hundred of the device.
    public func matches(
        dataset: String, deviceId: String, after: String? = nil, limit: Int = 100
    ) throws(StoreError) -> [MatchRecord]? {
        let limit = min(max(limit, 1), Self.listedMax)
        return try read { db in
            var numbers: [Int64] = []
            var start: Int64?
            let sql =
                "SELECT number, id FROM match WHERE dataset = ? AND deviceId = ? AND listed = 1 ORDER BY number DESC LIMIT ?"
            try db.rows(sql, dataset, deviceId, Self.listedMax) { row in
                numbers.append(row.int64(0))
                if let after, row.text(1).utf8.elementsEqual(after.utf8) { start = row.int64(0) }
            }
            numbers.reverse()
            if after != nil {
                guard let start else { return nil }
                numbers = Array(numbers.drop { $0 <= start }.prefix(limit))
            } else {
                numbers = numbers.suffix(limit)
            }
            return try numbers.compactMap { try Self.match($0, db) }
        }
    }

    /// One match of a dataset while its device lists it; nil where there is none.
    public func match(dataset: String, id: String) throws(StoreError) -> MatchRecord? {
        try read { db in
            var number: Int64?
            try db.rows("SELECT number FROM match WHERE dataset = ? AND id = ? AND listed = 1", dataset, id) {
                number = $0.int64(0)
            }
            return try number.flatMap { try Self.match($0, db) }
        }
    }

    /// The most matches of one device that can be read.
    static let listedMax = 100

    private static func match(_ number: Int64, _ db: Database) throws -> MatchRecord? {
        var match: MatchRecord?
        let sql = "SELECT \(matchColumns), body FROM match JOIN matchBody USING (number) WHERE number = ?"
        try db.rows(sql, number) { match = try MatchRecord($0, body: $0.bytes(13)) }
        return match
    }
}
