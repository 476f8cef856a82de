/// A line of an expression with a caret under the place where it is wrong.
enum Caret {
    private static let columnsMax = 100

    /// - Parameter position: Unicode scalars from 0; the end of the text where something is missing there.
    static func text(in text: String, at position: Int) -> String {
        let scalars = Array(text.unicodeScalars)
        let place = max(0, min(position, scalars.count))
        let start = scalars[..<place].lastIndex(of: "\n").map { $0 + 1 } ?? 0
        let end = scalars[place...].firstIndex(of: "\n") ?? scalars.count
        // Of a long line, the text around the position.
        let from = max(start, place - columnsMax / 2)
        let to = min(end, from + columnsMax)
        let before = (from > start ? "…" : "") + shown(scalars[from..<place])
        let after = shown(scalars[place..<to]) + (to < end ? "…" : "")
        return "  \(before)\(after)\n  \(String(repeating: " ", count: DisplayWidth.of(before)))^"
    }

    private static func shown(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars.map { $0 == "\t" ? " " : $0 })
        return PlainText.printable(String(text))
    }
}
