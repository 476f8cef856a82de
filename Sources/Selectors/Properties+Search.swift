extension Properties {
    /// The value under a name of at most ``Datum/inlineCapacity`` bytes, or a missing datum.
    ///
    /// - Parameter base: the words of a value of this type.
    @inline(__always)
    static func find(_ name: Datum, in base: UnsafePointer<UInt64>) -> Datum {
        let count = Int(truncatingIfNeeded: base[0])
        guard count <= linearLimit else { return bisect(name, nameWords: base, in: base) }
        var slot = base + 1
        let end = slot + slotSize * count
        while slot < end {
            if slot[0] == name.low, slot[1] == name.high { return Datum(low: slot[2], high: slot[3]) }
            slot += slotSize
        }
        return .missing
    }

    /// The value under a name, or a missing datum.
    ///
    /// - Parameters:
    ///   - name: a long one lives in `nameWords`.
    ///   - base: the words of a value of this type.
    @inline(never)
    static func find(
        anyLength name: Datum, nameWords: UnsafePointer<UInt64>, in base: UnsafePointer<UInt64>
    ) -> Datum {
        guard name.isLongString else { return find(name, in: base) }
        let count = Int(truncatingIfNeeded: base[0])
        guard count <= linearLimit else { return bisect(name, nameWords: nameWords, in: base) }
        for index in 0..<count {
            let slot = base + slotStart(index)
            if isSame(Datum(low: slot[0], high: slot[1]), in: base, name, in: nameWords) {
                return Datum(low: slot[2], high: slot[3])
            }
        }
        return .missing
    }

    @inline(never)
    private static func bisect(_ wanted: Datum, nameWords: UnsafePointer<UInt64>, in base: UnsafePointer<UInt64>) -> Datum {
        let count = Int(truncatingIfNeeded: base[0])
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let slot = base + slotStart(middle)
            let name = Datum(low: slot[0], high: slot[1])
            if isSame(name, in: base, wanted, in: nameWords) { return Datum(low: slot[2], high: slot[3]) }
            if isOrdered(name, wanted, in: base, nameWords) { low = middle + 1 } else { high = middle }
        }
        return .missing
    }

    static func isSame(
        _ left: Datum, in leftWords: UnsafePointer<UInt64>, _ right: Datum, in rightWords: UnsafePointer<UInt64>
    ) -> Bool {
        guard left.low == right.low else { return false }
        guard left.isLongString, right.isLongString else { return left.high == right.high }
        return DatumStorage.isEqual(left, in: leftWords, right, in: rightWords)
    }

    /// The order of names for bisection: by first word, short before long, then by the other words. It ends in the bytes
    /// themselves, so names made to share a hash cost no more than others.
    static func isOrdered(
        _ left: Datum, _ right: Datum, in leftWords: UnsafePointer<UInt64>, _ rightWords: UnsafePointer<UInt64>
    ) -> Bool {
        guard left.low == right.low else { return left.low < right.low }
        switch (left.isLongString, right.isLongString) {
        case (false, false): return left.high < right.high
        case (false, true): return true
        case (true, false): return false
        case (true, true):
            let leftStart = leftWords + left.index
            let rightStart = rightWords + right.index
            guard leftStart[0] == rightStart[0] else { return leftStart[0] < rightStart[0] }
            let wordCount = 1 + (Int(truncatingIfNeeded: leftStart[0]) + 7) / 8
            for index in 1..<wordCount where leftStart[index] != rightStart[index] {
                return leftStart[index] < rightStart[index]
            }
            return false
        }
    }
}
