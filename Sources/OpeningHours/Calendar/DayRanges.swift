/// Days of the calendar, as sorted ranges that do not touch.
public struct DayRanges: Sendable, Equatable {
    /// First and last day of each range, inclusive; days since 1970-01-01.
    private let ranges: [ClosedRange<Int>]

    public init() { ranges = [] }

    /// The days of all the ranges; they may overlap and come in any order.
    public init(_ ranges: [ClosedRange<Int>]) {
        var merged: [ClosedRange<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound - 1 <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        self.ranges = merged
    }

    public init(days: [Int]) { self.init(days.map { $0...$0 }) }

    public var isEmpty: Bool { ranges.isEmpty }

    /// Whether a day is among them. Logarithmic in the number of ranges.
    public func contains(_ day: Int) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < day { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= day
    }
}
