/// What was probably meant by a word that means nothing.
enum Spelling {
    /// `, did you mean …` with the nearest of the known words, if one is near or begins with it; else `; known are …`.
    static func hint(for word: String, among known: [String]) -> String {
        if let whole = known.first(where: { $0.hasPrefix(word.lowercased() + "-") }) { return ", did you mean \(whole)" }
        let letters = Array(word.lowercased().unicodeScalars.prefix(64))
        let limit = max(1, min(3, letters.count / 3))
        var best: (word: String, cost: Int)?
        for candidate in known {
            let other = Array(candidate.unicodeScalars)
            let distance = distance(letters, other)
            // What has no letter in common is no misspelling; of two as near, the one that begins alike was meant.
            guard distance <= limit, distance < letters.count else { continue }
            let cost = 2 * distance + (letters.first == other.first ? 0 : 1)
            if cost < best?.cost ?? .max { best = (candidate, cost) }
        }
        return best.map { ", did you mean \($0.word)" } ?? "; known are \(known.joined(separator: " "))"
    }

    /// Letters to insert, leave out or replace. Source: Wagner, Fischer, J. ACM 21(1), 1974.
    static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var row = Array(0...right.count)
        for (line, scalar) in left.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (scalar == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
