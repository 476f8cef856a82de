import Records

/// The rows of one kind in the order in which they were first put.
struct Rows<Value> {
    private var rows: [RowKey: (order: Int, value: Value)] = [:]
    private var last = 0

    subscript(key: RowKey) -> Value? {
        get { rows[key]?.value }
        set {
            guard let newValue else {
                rows[key] = nil
                return
            }
            last += 1
            rows[key] = (rows[key]?.order ?? last, newValue)
        }
    }

    var count: Int { rows.count }
    var all: [Value] { rows.values.sorted { $0.order < $1.order }.map(\.value) }

    func filter(_ isWanted: (Value) -> Bool) -> [Value] {
        rows.values.filter { isWanted($0.value) }.sorted { $0.order < $1.order }.map(\.value)
    }

    mutating func remove(where isGone: (Value) -> Bool) {
        for (key, row) in rows where isGone(row.value) { rows[key] = nil }
    }
}

/// The fields that name a row.
typealias RowKey = [Field]
