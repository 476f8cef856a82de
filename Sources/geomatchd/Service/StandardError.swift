import Glibc

/// Where the log goes. What cannot be written is lost: a reader that went away, or a full disk behind it, must not end the daemon.
enum StandardError {
    static func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let base = rest.baseAddress, !rest.isEmpty {
                let count = Glibc.write(STDERR_FILENO, base, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }
}
