import Foundation

/// The whole window of a terminal, for as long as a command draws on it; what was there before comes back at the end.
final class TerminalScreen {
    private let descriptor: Int32
    private var isOpen = false
    let hasColours: Bool

    /// Nil where standard output is no terminal that can move its cursor.
    init?(
        descriptor: Int32 = STDOUT_FILENO, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        guard isatty(descriptor) == 1, environment["TERM", default: "dumb"] != "dumb" else { return nil }
        self.descriptor = descriptor
        // https://no-color.org: present and not empty.
        hasColours = environment["NO_COLOR", default: ""].isEmpty
    }

    /// As it is now; it may change at any time.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Draws over what was drawn before.
    ///
    /// - Parameter lines: As many as the window has rows at most, each as wide as the window at most.
    func draw(_ lines: [String]) {
        var text = ""
        if !isOpen {
            isOpen = true
            // The other screen, and no cursor.
            text += "\u{1B}[?1049h\u{1B}[?25l"
        }
        text += "\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
        write(text)
    }

    /// What was there before. Does no harm twice.
    func close() {
        guard isOpen else { return }
        isOpen = false
        write("\u{1B}[?25h\u{1B}[?1049l")
    }

    deinit { close() }

    private func write(_ text: String) {
        var output = StandardOutput(descriptor: descriptor)
        output.append(text)
        output.flush()
    }
}
