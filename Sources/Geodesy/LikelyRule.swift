/// What `accuracy: "likely"` asks of a fix: coarse ones decide nothing, an entry lies well inside, an exit takes a minute.
public enum LikelyRule {
    /// Metres: a fix no coarser than that always decides.
    public static let accuracyMetres = 100.0
    /// Milliseconds, by the fixes' own times, that those of an exit have to span.
    public static let exitMilliseconds: Int64 = 60_000

    /// Metres of accuracy up to which a fix decides.
    ///
    /// - Parameter depth: Metres from the edge to the point that lies deepest inside; a circle's radius.
    public static func accuracyMax(depth: Double) -> Double { max(accuracyMetres, depth / 2) }

    /// Metres from the edge that an entry has to lie inside.
    public static func entryMargin(accuracy: Double, depth: Double) -> Double { min(accuracy, depth) / 2 }

    /// Metres beyond the edge that the fixes of an exit have to lie outside.
    public static func exitMargin(accuracy: Double, _ margin: Double) -> Double { max(margin, accuracy) }
}
