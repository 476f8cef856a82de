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

    /// Which of the ids somebody who mistyped one may have meant.
    ///
    /// Ids resemble each other by nature (`phone1`, `phone2`): of three letters one may differ, of six two.
    ///
    /// - Parameter isOffered: Asked of the near ones only.
    /// - Returns: The nearest of those offered; of equally near ones the first by its bytes, whatever the order of `ids`.
    public static func nearest(
        to id: String, ofIDs ids: some Sequence<String>, where isOffered: (String) -> Bool
    ) -> String? {
        let letters = Array(id.lowercased().utf8)
        var best: (id: String, distance: Int)?
        var most = min(2, letters.count / 3)
        for candidate in ids where abs(candidate.utf8.count - letters.count) <= most {
            let distance = distance(letters, Array(candidate.lowercased().utf8), atMost: most)
            // Its own id is that of something that is about to go.
            guard distance <= most, candidate != id, isOffered(candidate) else { continue }
            if let known = best, known.distance == distance, known.id.utf8.lexicographicallyPrecedes(candidate.utf8) { continue }
            best = (candidate, distance)
            most = distance
        }
        return best?.id
    }

    /// Advice on a word that is none of those known: the nearest one, or all of them.
    ///
    /// - Parameter introduction: The text before all of them.
    public static func advice(on word: String, of words: [String], at path: String = "", else introduction: String) -> String {
        nearest(to: word, of: words).map { "did you mean `\(path)\($0)`?" }
            ?? "\(introduction) " + words.map { "`\(path)\($0)`" }.joined(separator: ", ")
    }

    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
    ///
    /// - Parameter most: What is farther is `Int.max`: only letters that are so near to each other are compared.
    public static func distance(_ a: [UInt8], _ b: [UInt8], atMost most: Int = .max) -> Int {
        guard a.count <= 64, b.count <= 64, abs(a.count - b.count) <= most else { return .max }
        let (aside, far) = (min(most, 64), 1000)
        var (earlier, former) = (Array(repeating: far, count: b.count + 1), Array(0...b.count))
        var row = earlier
        for i in 0..<a.count {
            row[0] = i + 1
            var least = i + 1
            let (first, end) = (max(0, i - aside), min(b.count, i + aside + 1))
            if first > 0 { row[first] = far }
            for j in first..<end {
                var cost = min(former[j] + (a[i] == b[j] ? 0 : 1), former[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, earlier[j - 1] + 1) }
                row[j + 1] = cost
                least = min(least, cost)
            }
            if end < b.count { row[end + 1] = far }
            // A swap passes over this row, in which its first letter alone costs as much.
            if least > most { return .max }
            (earlier, former, row) = (former, row, earlier)
        }
        return former[b.count] > most ? .max : former[b.count]
    }
}
