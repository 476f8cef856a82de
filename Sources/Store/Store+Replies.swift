import GRDB

// Replies that are remembered, and the filters held at a broker.

extension Store {
    /// Removes the replies that are too old, and the oldest of each client that has too many.
    ///
    /// The second is done here, where time has passed anyway, and not at each reply: until then a client may have more on disk,
    /// and a restore leaves them out.
    static func forgetReplies(before instant: Int64, keeping most: Int64, _ db: Database) throws {
        try db.run("DELETE FROM reply WHERE at < ?", instant)
        for surplus in try surplusReplies(db, of: nil, keeping: most) {
            try db.run(
                """
                DELETE FROM reply WHERE number IN \
                (SELECT number FROM reply WHERE dataset = ? AND client = ? ORDER BY number LIMIT ?)
                """,
                surplus.dataset, surplus.client, surplus.count)
        }
    }

    /// The clients with more replies than are kept, and how many more; of one dataset, or of all where it is nil.
    static func surplusReplies(
        _ db: Database, of dataset: String?, keeping most: Int64
    ) throws -> [(dataset: String, client: String, count: Int64)] {
        var surplus: [(dataset: String, client: String, count: Int64)] = []
        let scope = dataset == nil ? "?1 IS NULL" : "dataset = ?1"
        let sql = "SELECT dataset, client, count(*) FROM reply WHERE \(scope) GROUP BY dataset, client HAVING count(*) > ?2"
        try db.rows(sql, dataset, most) { row in
            surplus.append((row.text(0), row.text(1), row.int64(2) - most))
        }
        return surplus
    }

    /// Writes from the first difference on: a dataset adds its filters at the end, and lists are long where datasets are many.
    static func putFilters(_ filters: [String], broker: String, _ db: Database) throws {
        var known: [String] = []
        try db.rows("SELECT filter FROM filter WHERE broker = ? ORDER BY position", broker) { known.append($0.text(0)) }
        // By bytes: two filters that only look equal are two filters.
        let same = zip(known, filters).prefix { $0.utf8.elementsEqual($1.utf8) }.count
        if same < known.count {
            try db.run("DELETE FROM filter WHERE broker = ? AND position >= ?", broker, same)
        }
        for position in same..<filters.count {
            try db.run("INSERT INTO filter VALUES (?, ?, ?)", broker, position, filters[position])
        }
    }
}
