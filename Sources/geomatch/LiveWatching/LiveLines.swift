/// One line for each message.
final class LiveLines: LiveOutput {
    private var output = StandardOutput()
    private let asJSON: Bool

    init(asJSON: Bool) { self.asJSON = asJSON }

    var isClosed: Bool { output.isClosed }

    func message(_ payload: UnsafeRawBufferPointer, _ change: LiveRows.Change) {
        output.line(
            asJSON ? WatchLine.json(topic: "", payload: payload) : WatchLine.text(.live, topic: "", payload: payload))
    }

    func note(_ text: String, isGood: Bool) { StandardError.line("geomatch: \(PlainText.printable(text))") }
    func flush(_ rows: LiveRows) { output.flush() }
    func turn(_ rows: LiveRows, now: Int64) -> Int64 { .max }
}
