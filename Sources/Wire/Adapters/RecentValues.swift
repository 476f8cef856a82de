/// The newest values of so many keys: what an adapter remembers of its devices. The oldest key goes first.
struct RecentValues<Value: Equatable> {
    private var values: [[UInt8]: Value] = [:]
    /// Keys by age, as a ring.
    private var order: [[UInt8]] = []
    private var oldest = 0
    private let maximum: Int

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// Notes a value; false where it is what was noted before.
    mutating func note(_ value: Value, for key: [UInt8]) -> Bool {
        if let known = values.updateValue(value, forKey: key) { return known != value }
        if order.count < maximum {
            order.append(key)
        } else {
            values[order[oldest]] = nil
            order[oldest] = key
            oldest = (oldest + 1) % maximum
        }
        return true
    }
}
