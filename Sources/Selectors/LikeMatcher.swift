/// Matches a compiled LIKE pattern with a text.
struct LikeMatcher {
    /// The number of pieces, then for each piece ``head(of:)`` and its bytes.
    let pattern: UnsafePointer<UInt64>
    let text: UnsafeBufferPointer<UInt8>

    /// A piece of a pattern where it lies in a program.
    struct Piece {
        let bytes: UnsafeBufferPointer<UInt8>
        let scalarCount: Int
        let hasWildcard: Bool
    }

    static func head(of piece: LikePattern.Piece) -> UInt64 {
        UInt64(piece.bytes.count) | UInt64(piece.scalarCount) << 32 | (piece.hasWildcard ? 1 << 63 : 0)
    }

    func matches() -> Bool {
        let count = Int(truncatingIfNeeded: pattern[0])
        var cursor = pattern + 1
        guard count > 0, var position = end(of: Self.next(&cursor), at: 0, limit: text.count) else { return false }
        if count == 1 { return position == text.count }
        var middles = count - 2
        let afterFirst = cursor
        for _ in 0..<middles { _ = Self.next(&cursor) }
        let last = Self.next(&cursor)
        guard let limit = start(of: last, after: position), end(of: last, at: limit, limit: text.count) == text.count else {
            return false
        }
        cursor = afterFirst
        while middles > 0 {
            guard let found = find(Self.next(&cursor), from: position, limit: limit) else { return false }
            position = found
            middles -= 1
        }
        return true
    }

    @inline(__always)
    private static func next(_ cursor: inout UnsafePointer<UInt64>) -> Piece {
        let head = cursor[0]
        let byteCount = Int(truncatingIfNeeded: head & 0xFFFF_FFFF)
        let bytes = UnsafeRawPointer(cursor + 1).assumingMemoryBound(to: UInt8.self)
        cursor += 1 + (byteCount + 7) / 8
        return Piece(
            bytes: UnsafeBufferPointer(start: bytes, count: byteCount),
            scalarCount: Int(truncatingIfNeeded: head >> 32 & 0x7FFF_FFFF), hasWildcard: head >> 63 == 1)
    }

    /// Where the piece ends when it is at `start`; nil when it does not.
    @inline(__always)
    private func end(of piece: Piece, at start: Int, limit: Int) -> Int? {
        var position = start
        return advance(&position, over: piece, limit: limit) == piece.bytes.count ? position : nil
    }

    /// Moves the position past the bytes of the piece that are there, and returns their number.
    @inline(__always)
    private func advance(_ position: inout Int, over piece: Piece, limit: Int) -> Int {
        var matched = 0
        while matched < piece.bytes.count, position < limit {
            let byte = piece.bytes[matched]
            if byte == LikePattern.anyScalar {
                position = min(position &+ Self.length(of: text[position]), limit)
            } else {
                guard text[position] == byte else { break }
                position &+= 1
            }
            matched &+= 1
        }
        return matched
    }

    /// Where a piece must start to end with the text; nil when that is before `position`.
    private func start(of piece: Piece, after position: Int) -> Int? {
        var start = text.count
        if piece.hasWildcard {
            for _ in 0..<piece.scalarCount {
                guard start > position else { return nil }
                start -= 1
                while start > position, Self.isContinuation(text[start]) { start -= 1 }
            }
        } else {
            start -= piece.bytes.count
        }
        return start >= position ? start : nil
    }

    /// The end of the leftmost occurrence of the piece.
    private func find(_ piece: Piece, from start: Int, limit: Int) -> Int? {
        // Comparing at each position ends soon in nearly all texts. In one made to be slow it takes the product of both
        // lengths, so after some comparisons for each byte an algorithm goes on that has a bound.
        var comparisonsLeft = 64 + Self.comparisonsPerByte * (limit - start)
        var position = start
        while position + piece.scalarCount <= limit {
            var end = position
            let matched = advance(&end, over: piece, limit: limit)
            if matched == piece.bytes.count { return end }
            comparisonsLeft -= matched + 1
            if comparisonsLeft < 0 { return search(piece, from: position, limit: limit) }
            position += Self.length(of: text[position])
        }
        return nil
    }

    private static let comparisonsPerByte = 2

    @inline(never)
    private func search(_ piece: Piece, from start: Int, limit: Int) -> Int? {
        let range = UnsafeBufferPointer(rebasing: text[start..<limit])
        let end =
            piece.hasWildcard ? BitParallelSearch(piece).firstEnd(in: range) : LinearSearch.firstEnd(of: piece.bytes, in: range)
        return end.map { start + $0 }
    }

    @inline(__always)
    static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    /// The number of bytes of the scalar that begins with the byte.
    @inline(__always)
    static func length(of byte: UInt8) -> Int {
        byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
    }
}
