/// Finds bytes in a text in time proportional to the lengths of both, whatever they hold.
///
/// Source: D. Knuth, J. Morris and V. Pratt, "Fast pattern matching in strings", SIAM Journal on Computing 6 (2), 1977.
enum LinearSearch {
    /// The end of the leftmost occurrence.
    ///
    /// - Parameter piece: Not empty.
    static func firstEnd(of piece: UnsafeBufferPointer<UInt8>, in text: UnsafeBufferPointer<UInt8>) -> Int? {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: piece.count) { borders in
            writeBorders(of: piece, into: borders)
            var matched = 0
            for position in text.indices {
                while matched > 0, piece[matched] != text[position] { matched = borders[matched - 1] }
                if piece[matched] == text[position] { matched += 1 }
                if matched == piece.count { return position + 1 }
            }
            return nil
        }
    }

    /// For each beginning of the piece the length of the longest shorter one that it ends with.
    private static func writeBorders(of piece: UnsafeBufferPointer<UInt8>, into borders: UnsafeMutableBufferPointer<Int>) {
        borders.initializeElement(at: 0, to: 0)
        var length = 0
        for end in 1..<piece.count {
            while length > 0, piece[length] != piece[end] { length = borders[length - 1] }
            if piece[length] == piece[end] { length += 1 }
            borders.initializeElement(at: end, to: length)
        }
    }
}
