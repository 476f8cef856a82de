/// How many things of one kind each client holds in a dataset.
struct Holdings {
    private var counts: [String: Int] = [:]

    subscript(client: String) -> Int { counts[client] ?? 0 }

    /// - Parameter client: nil for what belongs to nobody.
    mutating func count(_ client: String?, by step: Int) {
        guard let client else { return }
        let count = self[client] + step
        counts[client] = count > 0 ? count : nil
    }
}
