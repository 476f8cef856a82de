/// How far a replay is: a bar on a terminal, else a line each second where it was asked for.
struct ReplayProgress {
    private let total: Int
    private let isBar: Bool
    private let isShown: Bool
    private var shownAt: Int64 = 0

    init(total: Int, isWanted: Bool, isTerminal: Bool = StandardError.isTerminal) {
        self.total = total
        isBar = isTerminal
        isShown = isTerminal || isWanted
    }

    /// Milliseconds between two showings.
    private var interval: Int64 { isBar ? 100 : 1000 }

    /// When ``show(_:startedAt:now:)`` is wanted next.
    var next: Int64 { isShown ? shownAt + interval : .max }

    mutating func show(_ done: Int, startedAt: Int64, now: Int64) {
        guard isShown, now >= next else { return }
        shownAt = now
        StandardError.write(text(done, seconds: Double(max(1, now - startedAt)) / 1000))
    }

    /// Leaves the line clear for what follows.
    func finish() {
        if isBar { StandardError.write("\r\u{1B}[K") }
    }

    func text(_ done: Int, seconds: Double) -> String {
        let percent = total > 0 ? done * 100 / total : 100
        let figures = "\(percent) %  \(done)/\(total)  \(PlainText.decimal(Double(done) / seconds, 0))/s"
        guard isBar else { return figures + "\n" }
        let filled = percent * 30 / 100
        return "\r[\(String(repeating: "#", count: filled))\(String(repeating: " ", count: 30 - filled))] \(figures)\u{1B}[K"
    }
}
