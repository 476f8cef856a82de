/// How far something is: a bar on a terminal, else a line each second where it was asked for.
struct ProgressLine {
    /// nil where nobody knows.
    private let total: Int?
    private let isBar: Bool
    private let isShown: Bool
    private var shownAt: Int64 = 0

    init(total: Int?, isWanted: Bool, isTerminal: Bool = StandardError.isTerminal) {
        self.total = total
        isBar = isTerminal
        isShown = isTerminal || isWanted
    }

    /// When it is to be shown next.
    var next: Int64 { isShown ? shownAt + (isBar ? 100 : 1000) : .max }

    /// Shows what is done of the total.
    mutating func show(_ done: Int, startedAt: Int64, now: Int64) {
        show(startedAt: startedAt, now: now) { $0.text(done, seconds: $1) }
    }

    /// Shows what is imported of files whose total is in bytes.
    mutating func show(bytes: Int, places: Int, startedAt: Int64, now: Int64) {
        show(startedAt: startedAt, now: now) { $0.text(bytes: bytes, places: places, seconds: $1) }
    }

    /// Shows what is done where nobody knows the total.
    mutating func show(rows: Int, startedAt: Int64, now: Int64) {
        show(startedAt: startedAt, now: now) {
            $0.text("\(rows) rows  \(PlainText.decimal(Double(rows) / $1, 0))/s", filled: nil)
        }
    }

    private mutating func show(startedAt: Int64, now: Int64, _ text: (Self, Double) -> String) {
        guard now >= next else { return }
        shownAt = now
        StandardError.write(text(self, Double(max(1, now - startedAt)) / 1000))
    }

    /// Leaves the line clear for what follows.
    func finish() {
        if isBar { StandardError.write("\r\u{1B}[K") }
    }

    func text(_ done: Int, seconds: Double) -> String {
        let total = total ?? 0
        let percent = total > 0 ? done * 100 / total : 100
        let figures = "\(percent) %  \(done)/\(total)  \(PlainText.decimal(Double(done) / seconds, 0))/s"
        return text(figures, filled: percent * 30 / 100)
    }

    func text(bytes: Int, places: Int, seconds: Double) -> String {
        let figures = "\(places) places  \(PlainText.decimal(Double(places) / seconds, 0))/s"
        guard let total else { return text(figures, filled: nil) }
        let share = total > 0 ? min(1, Double(bytes) / Double(total)) : 1
        let left = share > 0.01 ? "  \(PlainText.decimal(seconds / share - seconds, 0)) s left" : ""
        let percent = PlainText.decimal((share * 100).rounded(.down), 0)
        return text("\(percent) %  \(figures)\(left)", filled: Int(share * 30))
    }

    /// - Parameter filled: Of thirty parts of the bar; nil without one.
    private func text(_ figures: String, filled: Int?) -> String {
        guard isBar else { return figures + "\n" }
        let bar = filled.map { "[\(String(repeating: "#", count: $0))\(String(repeating: " ", count: 30 - $0))] " } ?? ""
        return "\r\(bar)\(figures)\u{1B}[K"
    }
}
