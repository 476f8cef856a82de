import Foundation
import Testing

/// A child process on three pipes (socket pairs) that no other child inherits.
///
/// Foundation's `Process` lets children that are started at the same time inherit each other's pipes, whose end then never
/// comes.
final class SpawnedProgram {
    let processID: pid_t
    private let input: Int32
    private let out: Int32
    private let errors: Int32

    init(_ executable: String, _ arguments: [String], environment: [String: String]) throws {
        let pipes = try (0..<3).map { _ in
            var ends: [Int32] = [-1, -1]
            // `pipe2` is not to be had in Swift; a pair of sockets is closed at exec as well.
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            return ends
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, end) in [pipes[0][0], pipes[1][1], pipes[2][1]].enumerated() {
            posix_spawn_file_actions_adddup2(&actions, end, Int32(descriptor))
        }
        let words = ([executable] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var processID: pid_t = 0
        try #require(posix_spawn(&processID, executable, &actions, nil, words, variables) == 0, "\(executable)")
        self.processID = processID
        for end in [pipes[0][0], pipes[1][1], pipes[2][1]] { close(end) }
        (input, out, errors) = (pipes[0][1], pipes[1][0], pipes[2][0])
    }

    /// What standard error says until it holds `part`, or ends, within half a minute.
    func errors(until part: String) -> String { Self.text(errors, until: part) }

    /// The same of standard output.
    func output(until part: String) -> String { Self.text(out, until: part) }

    private static func text(_ descriptor: Int32, until part: String) -> String {
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        let end = ContinuousClock.now + .seconds(30)
        while !String(decoding: text, as: UTF8.self).contains(part) {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 100) > 0 else {
                guard ContinuousClock.now < end else { break }
                continue
            }
            let count = read(descriptor, &chunk, chunk.count)
            if count <= 0 { break }
            text += chunk[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Gives the program `text` to read, takes what it still says, and waits for its end.
    func finish(input text: String) -> Said {
        let (errors, input) = (errors, input)
        let failure = Reading(errors)
        let writer = Thread {
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                // A program that does not read its input must not end the tests by a signal.
                let count = bytes.withUnsafeBytes { send(input, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if count <= 0 { break }
                bytes = bytes.dropFirst(count)
            }
            close(input)
        }
        writer.start()
        // What does not end fails its test, and keeps no other waiting.
        let processID = processID
        let patience = DispatchWorkItem { kill(processID, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: patience)
        defer { patience.cancel() }
        let said = Reading(out).text()
        let error = failure.text()
        var status: Int32 = 0
        waitpid(processID, &status, 0)
        close(out)
        close(errors)
        // A signal's number is reported as the shell does.
        let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
        return Said(out: said, error: error, code: code)
    }
}

/// Reads a descriptor to its end on a thread of its own.
private final class Reading: @unchecked Sendable {
    /// Guards `bytes` and `isComplete`.
    private let condition = NSCondition()
    private var bytes: [UInt8] = []
    private var isComplete = false

    init(_ descriptor: Int32) {
        Thread { [self] in
            var chunk = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                if count <= 0 { break }
                condition.withLock { bytes += chunk[..<count] }
            }
            condition.withLock {
                isComplete = true
                condition.broadcast()
            }
        }.start()
    }

    func text() -> String {
        condition.withLock {
            while !isComplete { condition.wait() }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
