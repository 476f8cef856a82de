/// A value in sixteen bytes, as properties and programs hold it.
///
/// The top byte of `high` is the tag. A string of at most 15 bytes of UTF-8 lies in the datum itself, so two of them are
/// equal exactly when their words are. A longer one is a hash in `low` and, in `high`, the index of its words in the
/// container it belongs to: a word with the number of bytes, then the bytes.
struct Datum {
    var low: UInt64
    var high: UInt64

    /// The largest number of bytes of a string that lies in the datum itself; the tag then is that number.
    static let inlineCapacity = 15

    enum Tag {
        static let longInProperties: UInt64 = 0x10
        static let longInProgram: UInt64 = 0x11
        static let integer: UInt64 = 0x20
        static let double: UInt64 = 0x30
        static let boolean: UInt64 = 0x40
        /// `low` is the number of elements, `high` the index of the first, two words each.
        static let array: UInt64 = 0x50
        /// There, but without a value to compare: NaN, an infinity, arithmetic that has no result.
        static let indeterminate: UInt64 = 0x60
        static let missing: UInt64 = 0x70
    }

    static let indexMask: UInt64 = (1 << 56) - 1

    @inline(__always)
    init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    @inline(__always)
    init(tag: UInt64, low: UInt64, index: Int = 0) {
        self.low = low
        high = tag << 56 | UInt64(truncatingIfNeeded: index)
    }

    @inline(__always)
    init(_ value: Int64) {
        self.init(tag: Tag.integer, low: UInt64(bitPattern: value))
    }

    /// NaN and infinities become indeterminate, and keep their bits.
    @inline(__always)
    init(_ value: Double) {
        self.init(tag: value.isFinite ? Tag.double : Tag.indeterminate, low: value.bitPattern)
    }

    @inline(__always)
    init(_ value: Bool) {
        self.init(tag: Tag.boolean, low: value ? 1 : 0)
    }

    static let missing = Datum(tag: Tag.missing, low: 0)
    static let indeterminate = Datum(tag: Tag.indeterminate, low: 0)

    @inline(__always)
    var tag: UInt64 { high >> 56 }
    @inline(__always)
    var index: Int { Int(truncatingIfNeeded: high & Self.indexMask) }
    @inline(__always)
    var integer: Int64 { Int64(bitPattern: low) }
    @inline(__always)
    var double: Double { Double(bitPattern: low) }

    @inline(__always)
    var isString: Bool { tag <= Tag.longInProgram }
    @inline(__always)
    var isLongString: Bool { tag == Tag.longInProperties || tag == Tag.longInProgram }
    @inline(__always)
    var isNumber: Bool { tag == Tag.integer || tag == Tag.double }
    @inline(__always)
    var isUnknown: Bool { tag >= Tag.indeterminate }

    /// The number as a double; only for numbers.
    @inline(__always)
    var approximate: Double { tag == Tag.integer ? Double(integer) : double }

    @inline(__always)
    func isIdentical(to other: Datum) -> Bool { low == other.low && high == other.high }

    /// The same number as an integer where it is one, so that equal numbers are identical; anything else unchanged.
    @inline(__always)
    var canonicalNumber: Datum {
        guard tag == Tag.double, double >= -0x1p63, double < 0x1p63 else { return self }
        let whole = Int64(double)
        return Double(whole) == double ? Datum(whole) : self
    }
}

extension Datum {
    /// How two numbers are ordered, without loss: an integer is not rounded to meet a double.
    ///
    /// - Returns: 0 for less, 1 for equal, 2 for greater.
    @inline(__always)
    static func order(_ left: Datum, _ right: Datum) -> UInt64 {
        switch (left.tag == Tag.integer, right.tag == Tag.integer) {
        case (true, true): rank(left.integer, right.integer)
        case (false, false): rank(left.double, right.double)
        case (true, false): order(left.integer, right.double)
        case (false, true): 2 - order(right.integer, left.double)
        }
    }

    @inline(__always)
    private static func rank<Number: Comparable>(_ left: Number, _ right: Number) -> UInt64 {
        (left >= right ? 1 : 0) + (left > right ? 1 : 0)
    }

    private static func order(_ left: Int64, _ right: Double) -> UInt64 {
        // 2^63 is the first double above all integers; -2^63 is the smallest integer itself.
        if right >= 0x1p63 { return 0 }
        if right < -0x1p63 { return 2 }
        // Conversion cuts the fraction off; what is left of a double with a fraction converts back exactly.
        let whole = Int64(right)
        return left == whole ? rank(Double(whole), right) : rank(left, whole)
    }
}
