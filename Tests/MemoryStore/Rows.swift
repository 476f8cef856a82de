/// The rows of one kind in the order in which they were first put, each known by its dataset and the bytes of its name.
struct Rows<Record> {
    private struct Key: Hashable {
        var dataset: String
        var name: [[UInt8]]

        init(_ dataset: String, _ name: [String]) {
            self.dataset = dataset
            // Swift's strings compare by canonical equivalence.
            self.name = name.map { Array($0.utf8) }
        }
    }

    private var rows: [Key: (order: Int, record: Record)] = [:]
    private var last = 0

    subscript(dataset: String, name: String...) -> Record? {
        get { rows[Key(dataset, name)]?.record }
        set {
            let key = Key(dataset, name)
            guard let newValue else {
                rows[key] = nil
                return
            }
            last += 1
            rows[key] = (rows[key]?.order ?? last, newValue)
        }
    }

    var count: Int { rows.count }
    var all: [Record] { rows.values.sorted { $0.order < $1.order }.map(\.record) }

    func of(_ dataset: String?) -> [Record] {
        guard let dataset else { return all }
        return rows.filter { $0.key.dataset == dataset }.values.sorted { $0.order < $1.order }.map(\.record)
    }

    mutating func remove(_ dataset: String, where isGone: (Record) -> Bool = { _ in true }) {
        rows = rows.filter { $0.key.dataset != dataset || !isGone($0.value.record) }
    }
}
