/// Figures in sentences for people.
enum FigureText {
    /// `131.2 m`, `-3.0 m`.
    ///
    /// - Parameter decimals: 0…3.
    static func metres(_ value: Double, decimals: Int = 1) -> String { "\(decimal(value, decimals)) m" }

    /// `0.4 s`, `12 s`: tenths below ten seconds.
    static func seconds(milliseconds: Int64) -> String {
        let seconds = Double(milliseconds) / 1000
        return "\(decimal(seconds, abs(seconds) < 10 ? 1 : 0, trimmed: true)) s"
    }

    /// `3600 s`, `0.5 s`.
    static func seconds(_ seconds: Double) -> String { "\(decimal(seconds, 3, trimmed: true)) s" }

    /// Rounded to so many decimals; a number too large for that as Swift writes it.
    static func decimal(_ value: Double, _ decimals: Int, trimmed: Bool = false) -> String {
        let scale = [1, 10, 100, 1000][max(0, min(3, decimals))]
        let scaled = (value * Double(scale)).rounded()
        guard scaled.magnitude < 0x1p53 else { return value.description }
        let units = Int64(scaled)
        let whole = "\(units < 0 ? "-" : "")\(units.magnitude / UInt64(scale))"
        guard scale > 1 else { return whole }
        let fraction = String(units.magnitude % UInt64(scale))
        var digits = String(repeating: "0", count: String(scale).utf8.count - 1 - fraction.utf8.count) + fraction
        if trimmed { while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() } }
        return digits.isEmpty ? whole : "\(whole).\(digits)"
    }
}
