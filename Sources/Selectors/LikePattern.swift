/// A LIKE pattern, cut at its `%`.
///
/// The first piece must be at the start of the text, the last at its end, the others are found leftmost one after the other;
/// so nothing is tried twice, and exact, prefix, suffix and contains patterns are the cases of one and two `%`.
struct LikePattern {
    struct Piece {
        /// UTF-8, with ``LikePattern/anyScalar`` for `_`.
        var bytes: [UInt8] = []
        var scalarCount = 0
        var hasWildcard = false
    }

    /// Encodes `_`; no UTF-8 has this byte.
    static let anyScalar: UInt8 = 0xFF

    private(set) var pieces = [Piece()]

    /// - Returns: nil when the escape character is before anything but `%`, `_` or itself, or at the end.
    init?(_ pattern: String, escape: Unicode.Scalar?) {
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if isEscaped {
                guard scalar == "%" || scalar == "_" || scalar == escape else { return nil }
                appendLiteral(scalar)
                isEscaped = false
            } else if scalar == escape {
                isEscaped = true
            } else {
                append(scalar)
            }
        }
        if isEscaped { return nil }
        dropEmptyMiddles()
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "%": pieces.append(Piece())
        case "_":
            pieces[pieces.count - 1].bytes.append(Self.anyScalar)
            pieces[pieces.count - 1].scalarCount += 1
            pieces[pieces.count - 1].hasWildcard = true
        default: appendLiteral(scalar)
        }
    }

    private mutating func appendLiteral(_ scalar: Unicode.Scalar) {
        pieces[pieces.count - 1].bytes.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
        pieces[pieces.count - 1].scalarCount += 1
    }

    /// `%%` is `%`.
    private mutating func dropEmptyMiddles() {
        guard pieces.count > 2 else { return }
        let middles = pieces[1..<(pieces.count - 1)].filter { !$0.bytes.isEmpty }
        pieces = [pieces[0]] + middles + [pieces[pieces.count - 1]]
    }
}
