/// A publication's properties, prepared once for fast evaluation.
///
/// One block of memory holds everything: three short properties take 136 bytes. Up to eight properties are searched one by one,
/// more by bisection.
public struct Properties: Sendable {
    /// The number of properties, then for each of them a slot: the datum of its name and that of its value. Above
    /// ``linearLimit`` the slots are in the order of ``isOrdered(_:_:in:_:)`` and the given order follows, two indices a word.
    /// Last come long strings and the elements of arrays.
    let words: ContiguousArray<UInt64>

    static let linearLimit = 8
    static let slotSize = 4

    public static let none = Properties([])

    /// - Parameter pairs: of equal names (compared by Unicode scalars) the last one wins, at its own place in the order.
    public init(_ pairs: [(name: String, value: PropertyValue)]) {
        var storage = DatumStorage(reserving: Self.headSize(pairs.count), longTag: Datum.Tag.longInProperties)
        let names = pairs.map { storage.datum(of: $0.name) }
        let order = Self.order(of: names, in: storage.words)
        guard order.count == pairs.count else {
            self.init(order.sorted().map { pairs[$0] })
            return
        }
        storage[0] = UInt64(pairs.count)
        for (slot, given) in order.enumerated() {
            let value = Self.datum(of: pairs[given].value, into: &storage)
            let start = Self.slotStart(slot)
            storage[start] = names[given].low
            storage[start + 1] = names[given].high
            storage[start + 2] = value.low
            storage[start + 3] = value.high
            if pairs.count > Self.linearLimit {
                let place = Self.slotStart(pairs.count) + given / 2
                storage[place] |= UInt64(slot) << (given % 2 == 0 ? 0 : 32)
            }
        }
        self.init(words: storage.words)
    }

    private init(words: ContiguousArray<UInt64>) {
        self.words = words
    }

    /// The properties in the given order.
    public var entries: [(name: String, value: PropertyValue)] {
        words.withUnsafeBufferPointer { buffer in
            let base = buffer.baseAddress.unsafelyUnwrapped
            return (0..<count).map { given in
                let slot = base + Self.slotStart(Self.slot(ofGiven: given, in: base))
                let name = Datum(low: slot[0], high: slot[1])
                let value = Datum(low: slot[2], high: slot[3])
                return (Self.string(of: name, in: base), Self.value(of: value, in: base))
            }
        }
    }

    /// The value of the property of this name; nil when there is none.
    public subscript(name: String) -> PropertyValue? {
        var probe = DatumStorage(reserving: 0, longTag: Datum.Tag.longInProgram)
        let key = probe.datum(of: name)
        return words.withUnsafeBufferPointer { buffer in
            probe.words.withUnsafeBufferPointer { probe in
                let base = buffer.baseAddress.unsafelyUnwrapped
                // Without a long name the probe is empty and its words are never looked at.
                let value = Self.find(anyLength: key, nameWords: probe.baseAddress ?? base, in: base)
                return value.tag == Datum.Tag.missing ? nil : Self.value(of: value, in: base)
            }
        }
    }

    var count: Int { Int(truncatingIfNeeded: words[0]) }

    /// What they occupy; no text in them is longer.
    public var bytes: Int { words.count * 8 }
}

// MARK: - Layout

extension Properties {
    private static func headSize(_ count: Int) -> Int {
        1 + slotSize * count + (count > linearLimit ? (count + 1) / 2 : 0)
    }

    @inline(__always)
    static func slotStart(_ slot: Int) -> Int { 1 + slotSize * slot }

    private static func slot(ofGiven given: Int, in base: UnsafePointer<UInt64>) -> Int {
        let count = Int(truncatingIfNeeded: base[0])
        guard count > linearLimit else { return given }
        let word = base[slotStart(count) + given / 2]
        return Int(truncatingIfNeeded: given % 2 == 0 ? word & 0xFFFF_FFFF : word >> 32)
    }

    /// The indices of the names to keep, in the order of the slots.
    private static func order(of names: [Datum], in words: ContiguousArray<UInt64>) -> [Int] {
        words.withUnsafeBufferPointer { buffer in
            let base = buffer.baseAddress.unsafelyUnwrapped
            if names.count <= linearLimit {
                return names.indices.filter { index in
                    !names[(index + 1)...].contains { isSame($0, in: base, names[index], in: base) }
                }
            }
            let sorted = names.indices.sorted { left, right in
                if isSame(names[left], in: base, names[right], in: base) { return left < right }
                return isOrdered(names[left], names[right], in: base, base)
            }
            return sorted.indices.filter { index in
                index + 1 == sorted.count
                    || !isSame(names[sorted[index]], in: base, names[sorted[index + 1]], in: base)
            }.map { sorted[$0] }
        }
    }

    private static func datum(of value: PropertyValue, into storage: inout DatumStorage) -> Datum {
        switch value {
        case .boolean(let value): return Datum(value)
        case .integer(let value): return Datum(value)
        case .double(let value): return Datum(value)
        case .string(let value): return storage.datum(of: value)
        case .array(let elements):
            let index = storage.count
            for _ in 0..<2 * elements.count { storage.append(0) }
            for (offset, element) in elements.enumerated() {
                let datum = datum(of: element, into: &storage)
                storage[index + 2 * offset] = datum.low
                storage[index + 2 * offset + 1] = datum.high
            }
            return Datum(tag: Datum.Tag.array, low: UInt64(elements.count), index: index)
        }
    }

    private static func value(of datum: Datum, in base: UnsafePointer<UInt64>) -> PropertyValue {
        switch datum.tag {
        case Datum.Tag.integer: return .integer(datum.integer)
        case Datum.Tag.double, Datum.Tag.indeterminate: return .double(datum.double)
        case Datum.Tag.boolean: return .boolean(datum.low == 1)
        case Datum.Tag.array:
            return .array(
                (0..<Int(truncatingIfNeeded: datum.low)).map { offset in
                    let start = base + datum.index + 2 * offset
                    return value(of: Datum(low: start[0], high: start[1]), in: base)
                })
        default: return .string(string(of: datum, in: base))
        }
    }

    private static func string(of datum: Datum, in base: UnsafePointer<UInt64>) -> String {
        datum.withBytes(in: base) { String(decoding: $0, as: UTF8.self) }
    }
}
