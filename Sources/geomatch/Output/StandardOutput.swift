import Glibc
import Wire

/// Standard output, written in large pieces. A caller that waits for something calls ``flush()`` first.
struct StandardOutput {
    private var bytes: [UInt8] = []
    private let descriptor: Int32
    /// Nobody reads any more (`| head`): the command should end.
    private(set) var isClosed = false

    private static let flushedAt = 64 << 10

    init(descriptor: Int32 = STDOUT_FILENO) {
        self.descriptor = descriptor
    }

    mutating func line(_ text: some Collection<UInt8>) {
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "\n"))
        if bytes.count >= Self.flushedAt { flush() }
    }

    mutating func line(_ text: String) { line(text.utf8) }

    /// Text without an end of line.
    mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    mutating func flush() {
        defer { bytes.removeAll(keepingCapacity: true) }
        if !isClosed, !bytes.isEmpty { isClosed = !writeAll(bytes, to: descriptor) }
    }

    /// One line and no more.
    static func print(_ text: String) {
        _ = writeAll(Array((text + "\n").utf8), to: STDOUT_FILENO)
    }

    /// A value as JSON on one line.
    static func print(json value: JSONValue) { print(String(decoding: value.serialised(), as: UTF8.self)) }
}

/// Standard error: notes, progress and failures.
enum StandardError {
    static func line(_ text: String) { write(text + "\n") }

    /// How it goes; on a terminal in place of a bar that is there.
    static func note(_ text: String) { line((isTerminal ? "\r\u{1B}[K" : "") + "geomatch: \(PlainText.printable(text))") }

    static func write(_ text: String) {
        _ = writeAll(Array(text.utf8), to: STDERR_FILENO)
    }

    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}

/// False where the other side is gone.
private func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { bytes in
        var written = 0
        while written < bytes.count, let base = bytes.baseAddress {
            let count = Glibc.write(descriptor, base + written, bytes.count - written)
            if count > 0 {
                written += count
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
