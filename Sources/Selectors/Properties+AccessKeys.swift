extension Properties {
    /// Calls `body` with each key these properties carry that a path in use may ask for; some more than once.
    ///
    /// A path is fulfilled when one of its keys is among them. Takes some nanoseconds for each property whose name is in use,
    /// and for each element of an array.
    @inline(__always)
    public func forEachKey(_ names: AccessNames, _ body: (UInt64) -> Void) {
        guard !names.isEmpty else { return }
        words.withUnsafeBufferPointer { words in
            // Never empty: the first word is the number of properties.
            let base = words.baseAddress.unsafelyUnwrapped
            for slot in 0..<Int(truncatingIfNeeded: base[0]) {
                let start = base + Properties.slotStart(slot)
                let name = AccessKey.name(Datum(low: start[0], high: start[1]))
                guard let use = names.find(name) else { continue }
                Properties.keys(of: Datum(low: start[2], high: start[3]), name, use.levels, base, body)
            }
        }
    }

    /// A bit for each value these properties carry, alone or in an array: of 32, chosen by the value's key.
    ///
    /// Where it has no bit in common with ``AccessPath/signature`` of a path of kind `equality`, the path is not fulfilled.
    public var accessSignature: UInt32 {
        words.withUnsafeBufferPointer { words in
            let base = words.baseAddress.unsafelyUnwrapped
            var signature: UInt32 = 0
            for slot in 0..<Int(truncatingIfNeeded: base[0]) {
                let start = base + Properties.slotStart(slot)
                let name = AccessKey.name(Datum(low: start[0], high: start[1]))
                // Presence and ranges are not asked for here.
                Properties.keys(of: Datum(low: start[2], high: start[3]), name, 0, base) { key in
                    signature |= AccessKey.bit(key)
                }
            }
            return signature
        }
    }

    @inline(__always)
    private static func keys(
        of value: Datum, _ name: UInt64, _ levels: UInt64, _ base: UnsafePointer<UInt64>, _ body: (UInt64) -> Void
    ) {
        body(AccessKey.presence(name))
        if value.tag == Datum.Tag.array {
            for element in 0..<Int(truncatingIfNeeded: value.low) {
                let start = base + value.index + 2 * element
                body(AccessKey.equality(name, Datum(low: start[0], high: start[1])))
            }
            return
        }
        body(AccessKey.equality(name, value))
        guard value.isNumber, levels != 0 else { return }
        var left = levels
        while left != 0 {
            let level = left.trailingZeroBitCount
            left &= left &- 1
            let (first, second) = AccessKey.blocks(value.approximate, level: level)
            body(AccessKey.range(name, level: level, grid: 0, block: first))
            body(AccessKey.range(name, level: level, grid: 1, block: second))
        }
    }
}
