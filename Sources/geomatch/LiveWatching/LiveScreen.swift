/// A table on the whole terminal.
final class LiveScreen: LiveOutput {
    private let screen: TerminalScreen
    private let title: String
    private var note = "connecting"
    private var updateCount = 0
    private var drawnAt: Int64 = 0
    private var isChanged = true

    /// Milliseconds between two drawings: where something changed, and for the ages and a window of another size.
    private static let pause: Int64 = 100
    private static let agePause: Int64 = 500

    init(_ screen: TerminalScreen, title: String) {
        self.screen = screen
        self.title = title
    }

    let isClosed = false

    func message(_ payload: UnsafeRawBufferPointer, _ change: LiveRows.Change) {
        updateCount += 1
        isChanged = true
    }

    func note(_ text: String, isGood: Bool) {
        note = isGood ? "Ctrl-C ends" : PlainText.printable(text)
        isChanged = true
    }

    func flush(_ rows: LiveRows) {}

    func turn(_ rows: LiveRows, now: Int64) -> Int64 {
        // A clock that was put back must not stop the drawing.
        let next = drawnAt + (isChanged ? Self.pause : Self.agePause)
        guard now >= next || now < drawnAt else { return next }
        (drawnAt, isChanged) = (now, false)
        let size = screen.size
        // The last column stays free: after writing there, terminals differ.
        let table = LiveTable(columns: max(1, size.columns - 1), rows: size.rows, hasColours: screen.hasColours)
        let title = "\(title)   \(rows.count) topics, \(updateCount) updates"
        screen.draw(table.lines(rows.all, LiveTable.Frame(title: title, note: note), now: now))
        return now + Self.agePause
    }

    /// What was on the terminal before.
    func close() { screen.close() }

    var summary: String { "\(updateCount) updates of \(title)" }
}
