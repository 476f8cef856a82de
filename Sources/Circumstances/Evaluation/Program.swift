/// A condition as it is evaluated: its parts in order, each followed by what it contains.
final class Program {
    enum Operation: UInt8 {
        case always, and, or, not
        // Of the device.
        case at, near, visited, frequents, dwelling, moving, live
        // Of the device and of a place.
        case time
        // Of a place.
        case identity, isOpen, hasOpenHours, threshold
    }

    struct Node {
        var operation: Operation
        /// Whether the value of the whole rises with the value of this.
        var isPositive: Bool
        /// One past the last node inside of this.
        var end: Int32 = 0
        /// Index into `predicates` (and `count` of them), `times` or `lives`; seconds; visits; bits of the levels.
        var operand: Int32 = 0
        /// Days of `frequents`; number of predicates.
        var count: Int32 = 0
    }

    /// Whose circumstance it is.
    let owner: String
    private(set) var nodes: [Node] = []
    private(set) var predicates: [UInt32] = []
    private(set) var times: [TimeRule] = []
    private(set) var lives: [LiveRule] = []

    func uses(_ operation: Operation) -> Bool { nodes.contains { $0.operation == operation } }
    var usesVisits: Bool { uses(.visited) || uses(.frequents) }

    /// Interns the predicates of the condition; each in `predicates` must be released once.
    init(_ condition: Condition, of owner: String, interning intern: (IdentityKey, String) -> UInt32) {
        self.owner = owner
        add(condition, isPositive: true, intern)
    }

    private func begin(_ operation: Operation, _ isPositive: Bool, operand: Int = 0, count: Int = 0) -> Int {
        nodes.append(
            Node(
                operation: operation, isPositive: isPositive, operand: Int32(truncatingIfNeeded: operand),
                count: Int32(truncatingIfNeeded: count)))
        nodes[nodes.count - 1].end = Int32(nodes.count)
        return nodes.count - 1
    }

    private func finish(_ node: Int) { nodes[node].end = Int32(nodes.count) }

    private func add(_ condition: Condition, isPositive: Bool, _ intern: (IdentityKey, String) -> UInt32) {
        let node: Int
        switch condition {
        case .always: node = begin(.always, isPositive)
        case .and(let parts), .or(let parts):
            let isAnd = if case .and = condition { true } else { false }
            node = begin(isAnd ? .and : .or, isPositive)
            for part in parts { add(part, isPositive: isPositive, intern) }
        case .not(let part):
            node = begin(.not, isPositive)
            add(part, isPositive: !isPositive, intern)
        case .at(let rules): node = add(.at, rules, isPositive, intern)
        case .near(let rules): node = add(.near, rules, isPositive, intern)
        case .visited(let rules): node = add(.visited, rules, isPositive, intern)
        case .frequents(let rules, let visits, let days):
            node = add(.frequents, rules, isPositive, intern)
            nodes[node].operand = Int32(visits)
            nodes[node].count = Int32(days)
        case .time(let rule): node = add(rule, isPositive)
        case .dwelling(let seconds): node = begin(.dwelling, isPositive, operand: seconds)
        case .moving: node = begin(.moving, isPositive)
        case .live(let rule):
            node = begin(.live, isPositive, operand: lives.count)
            lives.append(rule)
        }
        finish(node)
    }

    private func add(_ rule: TimeRule, _ isPositive: Bool) -> Int {
        times.append(rule)
        return begin(.time, isPositive, operand: times.count - 1)
    }

    private func add(
        _ operation: Operation, _ rules: [PlaceRule], _ isPositive: Bool, _ intern: (IdentityKey, String) -> UInt32
    ) -> Int {
        let node = begin(operation, isPositive)
        for rule in rules { add(rule, isPositive: isPositive, intern) }
        finish(node)
        return node
    }

    private func add(_ rule: PlaceRule, isPositive: Bool, _ intern: (IdentityKey, String) -> UInt32) {
        let node: Int
        switch rule {
        case .always, .any: node = begin(.always, isPositive)
        case .and(let rules), .or(let rules):
            let isAnd = if case .and = rule { true } else { false }
            node = begin(isAnd ? .and : .or, isPositive)
            for part in rules { add(part, isPositive: isPositive, intern) }
        case .not(let part):
            node = begin(.not, isPositive)
            add(part, isPositive: !isPositive, intern)
        case .identity(let key, let values):
            node = begin(.identity, isPositive, operand: predicates.count, count: values.count)
            for value in values { predicates.append(intern(key, value)) }
        case .isOpen: node = begin(.isOpen, isPositive)
        case .hasOpenHours: node = begin(.hasOpenHours, isPositive)
        case .threshold(let levels):
            node = begin(.threshold, isPositive, operand: levels.reduce(0) { $0 | 1 << Int($1.rawValue) })
        case .time(let rule): node = add(rule, isPositive)
        }
        finish(node)
    }
}
