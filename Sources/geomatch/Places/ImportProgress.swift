/// How far an import is: a bar on a terminal, else a line each second where it was asked for.
struct ImportProgress {
    /// Bytes of all files; nil where nobody knows.
    private let total: Int?
    private let isBar: Bool
    private let isShown: Bool
    private var shownAt: Int64 = 0

    init(total: Int?, isWanted: Bool, isTerminal: Bool = StandardError.isTerminal) {
        self.total = total
        isBar = isTerminal
        isShown = isTerminal || isWanted
    }

    mutating func show(bytes: Int, places: Int, startedAt: Int64, now: Int64) {
        guard isShown, now >= shownAt + (isBar ? 100 : 1000) else { return }
        shownAt = now
        StandardError.write(text(bytes: bytes, places: places, seconds: Double(max(1, now - startedAt)) / 1000))
    }

    /// Leaves the line clear for what follows.
    func finish() {
        if isBar { StandardError.write("\r\u{1B}[K") }
    }

    func text(bytes: Int, places: Int, seconds: Double) -> String {
        var figures = "\(places) places  \(PlainText.decimal(Double(places) / seconds, 0))/s"
        let share = total.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 }
        if let share {
            figures = "\(PlainText.decimal((share * 100).rounded(.down), 0)) %  \(figures)"
            if share > 0.01 { figures += "  \(PlainText.decimal(seconds / share - seconds, 0)) s left" }
        }
        guard isBar else { return figures + "\n" }
        let filled = Int((share ?? 0) * 30)
        let bar = share == nil ? "" : "[\(String(repeating: "#", count: filled))\(String(repeating: " ", count: 30 - filled))] "
        return "\r\(bar)\(figures)\u{1B}[K"
    }
}
