/// Values that many places share, as dense numbers. A value is forgotten when nothing refers to it any more.
struct InternPool<Value: Hashable> {
    private var numbers: [Value: UInt32] = [:]
    private var values: [Value?] = []
    private var references: [UInt32] = []
    private var free: [UInt32] = []
    /// The one asked for last: files list the same owner and zone a million times.
    private var latest: UInt32 = .max

    /// How many there are.
    var count: Int { numbers.count }
    /// One more than the largest number.
    var reach: Int { values.count }

    func number(of value: Value) -> UInt32? { numbers[value] }

    /// How many refer to a value.
    func referenceCount(of value: Value) -> Int { numbers[value].map { Int(references[Int($0)]) } ?? 0 }

    subscript(number: UInt32) -> Value? { Int(number) < values.count ? values[Int(number)] : nil }

    /// The number of a value, which has one more reference then.
    mutating func take(_ value: Value) -> UInt32 {
        if latest != .max, values[Int(latest)] == value {
            references[Int(latest)] &+= 1
            return latest
        }
        latest = number(orNew: value)
        references[Int(latest)] &+= 1
        return latest
    }

    private mutating func number(orNew value: Value) -> UInt32 {
        if let number = numbers[value] { return number }
        let number = free.popLast() ?? UInt32(truncatingIfNeeded: values.count)
        if Int(number) == values.count {
            values.append(value)
            references.append(0)
        } else {
            values[Int(number)] = value
        }
        numbers[value] = number
        return number
    }

    mutating func retain(_ number: UInt32) { references[Int(number)] &+= 1 }

    /// One reference less; true: it was the last one.
    @discardableResult
    mutating func release(_ number: UInt32) -> Bool {
        references[Int(number)] &-= 1
        guard references[Int(number)] == 0, let value = values[Int(number)] else { return false }
        numbers[value] = nil
        values[Int(number)] = nil
        free.append(number)
        if latest == number { latest = .max }
        return true
    }
}
