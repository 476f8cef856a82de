/// How many columns of a terminal a text takes.
///
/// Source: Unicode Standard Annex 11 (East Asian Width), its wide blocks as ranges; a terminal that draws an emoji of several
/// scalars as one is left with a gap, never with a line too long.
enum DisplayWidth {
    static func of(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + of($1) } }

    /// `text` in exactly so many columns: filled with spaces, or cut with `…` at its end.
    static func fit(_ text: String, _ columns: Int, alignsRight: Bool = false) -> String {
        let width = of(text)
        guard width > columns else {
            let spaces = String(repeating: " ", count: columns - width)
            return alignsRight ? spaces + text : text + spaces
        }
        guard columns > 0 else { return "" }
        var cut = ""
        var used = 0
        for scalar in text.unicodeScalars {
            guard used + of(scalar) <= columns - 1 else { break }
            cut.unicodeScalars.append(scalar)
            used += of(scalar)
        }
        return cut + "…" + String(repeating: " ", count: columns - 1 - used)
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
