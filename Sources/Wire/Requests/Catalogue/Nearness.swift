/// Which of the known words somebody who mistyped one may have meant.
public enum Nearness {
    /// - Returns: The nearest of `words`, where at most a third of it is different; of equally near ones the first.
    public static func nearest(to word: String, of words: some Sequence<String>) -> String? {
        let letters = Array(word.lowercased().utf8)
        var best: (word: String, distance: Int)?
        for candidate in words {
            // Each letter more or less is one difference.
            guard abs(candidate.utf8.count - letters.count) <= max(1, candidate.utf8.count / 3) else { continue }
            let distance = distance(letters, Array(candidate.lowercased().utf8))
            guard distance <= max(1, candidate.utf8.count / 3), distance < best?.distance ?? .max else { continue }
            // What shares no letter is no misspelling.
            guard distance < candidate.utf8.count else { continue }
            best = (candidate, distance)
        }
        return best?.word
    }

    /// Advice on a word that is none of those known: the nearest one, or all of them.
    ///
    /// - Parameter introduction: The text before all of them.
    public static func advice(on word: String, of words: [String], at path: String = "", else introduction: String) -> String {
        nearest(to: word, of: words).map { "did you mean `\(path)\($0)`?" }
            ?? "\(introduction) " + words.map { "`\(path)\($0)`" }.joined(separator: ", ")
    }

    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
    public static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        guard a.count <= 64, b.count <= 64 else { return .max }
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var cost = min(rows[i][j] + (a[i] == b[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, rows[i - 1][j - 1] + 1) }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
