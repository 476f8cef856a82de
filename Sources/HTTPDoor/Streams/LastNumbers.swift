/// The number of the last message of each client, for a bounded number of clients: beyond it, those with the lowest numbers go.
struct LastNumbers {
    private(set) var numbers: [StreamKey: Int64] = [:]
    private let clientsMax: Int

    init(clientsMax: Int = 100_000) { self.clientsMax = clientsMax }

    subscript(key: StreamKey) -> Int64? { numbers[key] }

    /// - Returns: The highest number of those that went; nil: none did.
    @discardableResult
    mutating func note(_ number: Int64, of key: StreamKey) -> Int64? {
        numbers[key] = number
        guard numbers.count > clientsMax else { return nil }
        // A tenth of them: to find the lowest takes a pass over all.
        let highest = numbers.values.sorted()[clientsMax / 10]
        numbers = numbers.filter { $0.value > highest }
        return highest
    }

    mutating func remove(_ key: StreamKey) -> Int64? { numbers.removeValue(forKey: key) }
}
