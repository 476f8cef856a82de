/// Finds a piece of a LIKE pattern in time proportional to the text times a 64th of the piece, whatever they hold.
///
/// Shift-And with a wildcard: R. Baeza-Yates and G. Gonnet, "A new approach to text searching", CACM 35 (10), 1992. Bit i of
/// the state says that the first i + 1 scalars of the piece end here.
struct BitParallelSearch {
    private let scalarCount: Int
    private let wordCount: Int
    /// The different scalars of the piece, ascending; row i + 1 of `masks` has their positions. Row 0 is for all others.
    private let alphabet: [UInt32]
    private let masks: [UInt64]

    init(_ piece: LikeMatcher.Piece) {
        var elements: [UInt32?] = []
        var index = 0
        while index < piece.bytes.count {
            if piece.bytes[index] == LikePattern.anyScalar {
                elements.append(nil)
                index += 1
            } else {
                elements.append(Self.scalar(in: piece.bytes, at: &index))
            }
        }
        let alphabet = Self.distinct(elements.compactMap { $0 })
        let wordCount = (elements.count + 63) / 64
        var masks = [UInt64](repeating: 0, count: (alphabet.count + 1) * wordCount)
        for (position, element) in elements.enumerated() {
            let bit: UInt64 = 1 << UInt64(position % 64)
            if let element {
                masks[Self.row(of: element, in: alphabet) * wordCount + position / 64] |= bit
            } else {
                for row in 0...alphabet.count { masks[row * wordCount + position / 64] |= bit }
            }
        }
        scalarCount = elements.count
        self.wordCount = wordCount
        self.alphabet = alphabet
        self.masks = masks
    }

    /// The end of the leftmost occurrence.
    func firstEnd(in text: UnsafeBufferPointer<UInt8>) -> Int? {
        var state = [UInt64](repeating: 0, count: wordCount)
        let lastBit: UInt64 = 1 << UInt64((scalarCount - 1) % 64)
        var position = 0
        while position < text.count {
            let start = Self.row(of: Self.scalar(in: text, at: &position), in: alphabet) * wordCount
            var carry: UInt64 = 1
            for word in 0..<wordCount {
                let shifted = state[word] << 1 | carry
                carry = state[word] >> 63
                state[word] = shifted & masks[start + word]
            }
            if state[wordCount - 1] & lastBit != 0 { return position }
        }
        return nil
    }

    /// The bytes of the scalar at the index as one number, which distinguishes scalars as well as their values do.
    private static func scalar(in bytes: UnsafeBufferPointer<UInt8>, at index: inout Int) -> UInt32 {
        var scalar: UInt32 = 0
        for _ in 0..<min(LikeMatcher.length(of: bytes[index]), bytes.count - index) {
            scalar = scalar << 8 | UInt32(bytes[index])
            index += 1
        }
        return scalar
    }

    private static func distinct(_ scalars: [UInt32]) -> [UInt32] {
        let sorted = scalars.sorted()
        return sorted.indices.filter { $0 == 0 || sorted[$0] != sorted[$0 - 1] }.map { sorted[$0] }
    }

    private static func row(of scalar: UInt32, in alphabet: [UInt32]) -> Int {
        var low = 0
        var high = alphabet.count
        while low < high {
            let middle = (low + high) / 2
            if alphabet[middle] < scalar { low = middle + 1 } else { high = middle }
        }
        return low < alphabet.count && alphabet[low] == scalar ? low + 1 : 0
    }
}
