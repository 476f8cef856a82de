/// The words of a container of datums: a publication's properties or a program.
struct DatumStorage {
    private(set) var words: ContiguousArray<UInt64>
    /// The tag of long strings kept here.
    let longTag: UInt64

    init(reserving count: Int, longTag: UInt64) {
        words = ContiguousArray(repeating: 0, count: count)
        self.longTag = longTag
    }

    subscript(index: Int) -> UInt64 {
        get { words[index] }
        set { words[index] = newValue }
    }

    var count: Int { words.count }

    mutating func append(_ word: UInt64) {
        words.append(word)
    }

    mutating func append(contentsOf more: ContiguousArray<UInt64>) {
        words.append(contentsOf: more)
    }

    /// The datum of a string, whose bytes are kept here when they are too many for it.
    mutating func datum(of string: String) -> Datum {
        if let datum = string.utf8.withContiguousStorageIfAvailable({ datum(of: $0) }) { return datum }
        return ContiguousArray(string.utf8).withUnsafeBufferPointer { datum(of: $0) }
    }

    private mutating func datum(of bytes: UnsafeBufferPointer<UInt8>) -> Datum {
        guard bytes.count > Datum.inlineCapacity else {
            let low = Self.word(of: bytes, from: 0)
            let high = Self.word(of: bytes, from: 8)
            return Datum(low: low, high: high | UInt64(bytes.count) << 56)
        }
        let index = words.count
        var hash = UInt64(bytes.count) &* 0x9E37_79B9_7F4A_7C15
        words.append(UInt64(bytes.count))
        for start in stride(from: 0, to: bytes.count, by: 8) {
            let word = Self.word(of: bytes, from: start)
            words.append(word)
            hash = (hash ^ word) &* 0xD6E8_FEB8_6659_FD93
            hash ^= hash >> 32
        }
        return Datum(tag: longTag, low: hash, index: index)
    }

    /// Keeps raw bytes, the first in the lowest byte of a word, as memory has them on every machine Swift runs on.
    mutating func append(bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { bytes in
            for start in stride(from: 0, to: bytes.count, by: 8) { words.append(Self.word(of: bytes, from: start)) }
        }
    }

    private static func word(of bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> UInt64 {
        var word: UInt64 = 0
        var shift: UInt64 = 0
        for byte in bytes[min(start, bytes.count)..<min(start + 8, bytes.count)] {
            word |= UInt64(byte) << shift
            shift += 8
        }
        return word
    }

    /// Whether two long strings, each given with the words it lives in, have the same bytes.
    static func isEqual(
        _ left: Datum, in leftWords: UnsafePointer<UInt64>, _ right: Datum, in rightWords: UnsafePointer<UInt64>
    ) -> Bool {
        guard left.low == right.low else { return false }
        let leftStart = leftWords + left.index
        let rightStart = rightWords + right.index
        let wordCount = 1 + (Int(truncatingIfNeeded: leftStart[0]) + 7) / 8
        guard leftStart[0] == rightStart[0] else { return false }
        for index in 1..<wordCount where leftStart[index] != rightStart[index] { return false }
        return true
    }
}
