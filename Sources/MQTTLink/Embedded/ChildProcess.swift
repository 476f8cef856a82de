import CMosquitto
import Glibc

/// A started program whose output comes through a pipe.
struct ChildProcess {
    let processID: pid_t
    /// Its standard output and error; ours to close.
    let output: Int32
    /// The other end of its standard input: it can see by it that we are gone, however that came. Ours to close.
    private let lifeline: Int32

    /// Starts it without a shell, in a process group of its own (so that Ctrl-C in our terminal does not end it before we
    /// have drained), with default signals and nothing inherited but the pipes and what is named.
    ///
    /// - Parameters:
    ///   - folder: Where it runs; `nil` for where we do.
    ///   - inherited: Descriptors that it has, too, from number 3 on; their own numbers are above those.
    ///   - preloaded: A library whose functions stand in for those of others; a path, as seen from the folder.
    init(
        executable: String, arguments: [String], folder: String? = nil, inherited: [Int32] = [], preloaded: String? = nil
    ) throws(EmbeddedBrokerError) {
        var pipes: [Int32] = [-1, -1]
        var life: [Int32] = [-1, -1]
        guard pipe2(&pipes, O_CLOEXEC) == 0 else { throw .notStarted(reason: String(cString: strerror(errno))) }
        defer { close(pipes[1]) }
        guard pipe2(&life, O_CLOEXEC) == 0 else {
            close(pipes[0])
            throw .notStarted(reason: String(cString: strerror(errno)))
        }
        defer { close(life[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let folder { posix_spawn_file_actions_addchdir_np(&actions, folder) }
        posix_spawn_file_actions_adddup2(&actions, life[0], 0)
        posix_spawn_file_actions_adddup2(&actions, pipes[1], 1)
        posix_spawn_file_actions_adddup2(&actions, pipes[1], 2)
        for (index, descriptor) in inherited.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(3 + index))
        }
        posix_spawn_file_actions_addclosefrom_np(&actions, Int32(3 + inherited.count))
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var vector: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { vector.forEach { free($0) } }
        var environment = Self.environment(preloaded: preloaded).map { strdup($0) } + [nil]
        defer { environment.forEach { free($0) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, executable, &actions, &attributes, &vector, &environment)
        guard code == 0 else {
            close(pipes[0])
            close(life[1])
            throw .notStarted(reason: "\(executable): \(String(cString: strerror(code)))")
        }
        processID = process
        output = pipes[0]
        lifeline = life[1]
    }

    /// Ours, with the library before others that are named there; without it where its path cannot be, as ld.so(8) parts the list by
    /// colons and spaces.
    private static func environment(preloaded: String?) -> [String] {
        var variables: [String] = []
        var next = environ
        while let variable = next.pointee {
            if let kept = withoutRelativePaths(String(cString: variable)) { variables.append(kept) }
            next += 1
        }
        guard let preloaded, !preloaded.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: ":") }) else { return variables }
        let name = "LD_PRELOAD="
        let others = variables.first { $0.hasPrefix(name) }.map { ":" + $0.dropFirst(name.count) } ?? ""
        return variables.filter { !$0.hasPrefix(name) } + [name + preloaded + others]
    }

    /// A variable of ld.so(8) without what is looked for where the program runs, a folder that may be another's to write: relative paths,
    /// and folders without a name. nil where nothing is left.
    static func withoutRelativePaths(_ variable: String) -> String? {
        func list(_ name: String, by separators: String, _ isKept: (Substring) -> Bool) -> String? {
            let paths = variable.dropFirst(name.count).split { separators.contains($0) }.filter(isKept)
            return paths.isEmpty ? nil : name + paths.joined(separator: ":")
        }
        for name in ["LD_PRELOAD=", "LD_AUDIT="] where variable.hasPrefix(name) {
            return list(name, by: ": ") { $0.hasPrefix("/") || !$0.contains("/") }
        }
        let folders = "LD_LIBRARY_PATH="
        return variable.hasPrefix(folders) ? list(folders, by: ":;") { $0.hasPrefix("/") } : variable
    }

    /// After its end.
    func closeFiles() {
        close(output)
        close(lifeline)
    }

    /// Whether it has a handler for a signal. Format: proc(5), `SigCgt` of /proc/pid/status.
    func catches(_ signal: Int32) -> Bool {
        let lines = BrokerFiles.read("/proc/\(processID)/status")?.split(separator: "\n") ?? []
        guard let line = lines.first(where: { $0.hasPrefix("SigCgt:") }),
            let mask = UInt64(line.dropFirst(7).drop { $0.isWhitespace }, radix: 16)
        else { return false }
        return mask & 1 << UInt64(signal - 1) != 0
    }

    /// What a status of waitpid means.
    static func text(ofStatus status: Int32) -> String {
        let signal = status & 0x7F
        return signal == 0 ? "exit code \((status >> 8) & 0xFF)" : "signal \(signal)"
    }
}
