import Glibc

/// The thread beside the embedded mosquitto: forwards its lines, notices its end, starts the next.
final class BrokerSupervisor {
    private let broker: EmbeddedBroker
    private let executable: String
    private let files: BrokerFiles
    private var child: ChildProcess?
    private var startedAt = monotonicNow()
    private var backoff = Backoff(minimum: 0.1, maximum: 5)
    private var partialLine: [UInt8] = []
    private var users: WatchedUsers?
    private var savedAt = monotonicNow()
    private var lookAtUsersAt = monotonicNow()

    /// A line longer than this is cut: nothing a child writes may grow our memory.
    private static let lineMaximum = 4096

    init(broker: EmbeddedBroker, executable: String, files: BrokerFiles, child: ChildProcess, users: WatchedUsers?) {
        self.broker = broker
        self.executable = executable
        self.files = files
        self.child = child
        self.users = users
    }

    func run() {
        while let child {
            let status = watch(child)
            self.child = nil
            broker.ended(status, files: files)
            guard !broker.isStopping.load(ordering: .sequentiallyConsistent),
                broker.hasStarted.load(ordering: .relaxed)
            else { return }
            restart(after: status)
        }
    }

    /// Until the child has ended and is reaped.
    private func watch(_ child: ChildProcess) -> String {
        defer { child.closeFiles() }
        var killAt: UInt64?
        while true {
            let stopping = broker.isStopping.load(ordering: .sequentiallyConsistent)
            if stopping && killAt == nil {
                kill(child.processID, SIGTERM)
                killAt = monotonicNow() + 3_000_000_000
            }
            if let at = killAt, monotonicNow() >= at {
                broker.configuration.log("mosquitto does not end; killing it")
                kill(child.processID, SIGKILL)
                killAt = .max
            }
            if !stopping { keepHouse(child) }
            let left = killAt.map { $0.saturatingDistance(from: monotonicNow()) / 1_000_000 + 1 } ?? 500
            waitForOutput(of: child, milliseconds: Int32(min(left, 500)), watchStop: !stopping)
            // The pipe may outlive the child in a grandchild, and the child may close it: only the reaping counts.
            var status: Int32 = 0
            if waitpid(child.processID, &status, WNOHANG) == child.processID {
                while forward(from: child) {}
                flushLine()
                return ChildProcess.text(ofStatus: status)
            }
        }
    }

    // MARK: Saving, and users

    private func keepHouse(_ child: ChildProcess) {
        guard broker.hasStarted.load(ordering: .relaxed) else { return }
        let now = monotonicNow()
        if savedAt + pause <= now { save(child) }
        if broker.mustReload.exchange(false, ordering: .sequentiallyConsistent) {
            let waiting = broker.waitingForReload.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            reload(child)
            for done in waiting { done() }
        }
        if now >= lookAtUsersAt {
            lookAtUsersAt = now + 400_000_000
            lookAtUsers(child)
        }
    }

    /// Nanoseconds between two savings, which fit what the last one wrote.
    private var pause: UInt64 {
        let configuration = broker.configuration
        var status = stat()
        let bytes = stat(files.memoryFile, &status) == 0 ? Double(status.st_size) : 0
        let seconds = max(Double(configuration.savesSeconds), min(bytes / Double(max(1, configuration.savedBytesPerSecond)), 600))
        return UInt64(seconds * 1e9)
    }

    /// Asks mosquitto to write its memory.
    private func save(_ child: ChildProcess) {
        savedAt = monotonicNow()
        // Before it catches the signal, which it does once it listens, the signal would end it.
        if child.catches(SIGUSR1) { kill(child.processID, SIGUSR1) }
    }

    private func lookAtUsers(_ child: ChildProcess) {
        guard var users else { return }
        defer { self.users = users }
        do throws(EmbeddedBrokerError) {
            guard let now = try users.changed() else { return }
            let (added, removed, changed) = users.users.differences(to: now)
            try files.writeUsers(now, broker.configuration)
            users.take(now)
            broker.configuration.log("users: \(added) added, \(removed) removed, \(changed) with another password")
            if broker.configuration.pluginFile == nil { hangUp(child) } else { reloadPlugin() }
        } catch {
            broker.configuration.log("Warning: the users stay as they were: \(error)")
        }
    }

    /// Users and certificates as their files are now, and access. A file that is wrong keeps back nothing else: access that is taken
    /// away ends.
    private func reload(_ child: ChildProcess) {
        let configuration = broker.configuration
        var taken: [String] = []
        if configuration.encryptedListener != nil {
            do throws(EmbeddedBrokerError) {
                try files.writeCertificates(configuration)
                taken.append("certificates")
            } catch {
                configuration.log("Error: the certificate of listen-tls stays as it was: \(error)")
            }
        }
        if let path = configuration.usersFile {
            taken += reloadUsers(path, configuration)
            if taken.contains("access"), configuration.pluginFile != nil { reloadPlugin() }
        }
        if configuration.pluginFile == nil ? !taken.isEmpty : taken.contains("certificates") { hangUp(child) }
        if !taken.isEmpty { configuration.log("reloaded: \(taken.joined(separator: ", "))") }
    }

    /// - Returns: What the broker can read anew.
    private func reloadUsers(_ path: String, _ configuration: EmbeddedBrokerConfiguration) -> [String] {
        var new: UsersFile?
        do throws(EmbeddedBrokerError) {
            new = try BrokerFiles.readUsers(path)
        } catch {
            configuration.log("Error: the users stay as they were: \(error)")
        }
        guard let used = new ?? users?.users else { return [] }
        do throws(EmbeddedBrokerError) {
            try files.writeUsers(used, configuration)
        } catch {
            configuration.log("Error: users and access stay as they were: \(error)")
            return []
        }
        guard let new else { return ["access"] }
        users?.take(new)
        return ["users", "access"]
    }

    /// Has mosquitto read its certificates again, and without the plugin users and access, too; who may no longer connect is cut off.
    private func hangUp(_ child: ChildProcess) {
        if child.catches(SIGHUP) { kill(child.processID, SIGHUP) }
    }

    /// Has the plugin read users and access again.
    private func reloadPlugin() {
        guard !BrokerCommand.reload(socketPath: files.socket) else { return }
        broker.configuration.log("Warning: mosquitto does not answer: it reads the users at its next start")
    }

    private func waitForOutput(of child: ChildProcess, milliseconds: Int32, watchStop: Bool) {
        var descriptors = (
            pollfd(fd: child.output, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watchStop ? broker.stopDescriptor : -1, events: Int16(POLLIN), revents: 0)
        )
        withUnsafeMutablePointer(to: &descriptors) {
            $0.withMemoryRebound(to: pollfd.self, capacity: 2) { _ = poll($0, 2, milliseconds) }
        }
        guard descriptors.0.revents != 0 else { return }
        // At its end the pipe is always readable: the child is about to be reaped.
        if !forward(from: child) { usleep(1000) }
    }

    /// Reads once, if there is something; false at the end or when nothing is there.
    private func forward(from child: ChildProcess) -> Bool {
        var descriptor = pollfd(fd: child.output, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 0) > 0 else { return false }
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = read(child.output, &chunk, chunk.count)
        guard count > 0 else { return false }
        for byte in chunk[..<count] {
            if byte == UInt8(ascii: "\n") {
                flushLine()
            } else if partialLine.count < Self.lineMaximum {
                partialLine.append(byte)
            }
        }
        return true
    }

    private func flushLine() {
        guard !partialLine.isEmpty else { return }
        broker.wrote(String(decoding: partialLine, as: UTF8.self))
        partialLine.removeAll(keepingCapacity: true)
    }

    private func restart(after status: String) {
        if monotonicNow() - startedAt > 10_000_000_000 { backoff.reset() }
        var status = status
        while !broker.isStopping.load(ordering: .sequentiallyConsistent) {
            let delay = backoff.next(random: 1)
            broker.configuration.log("mosquitto ended (\(status)); starting it again in \(delay) s")
            var descriptor = pollfd(fd: broker.stopDescriptor, events: Int16(POLLIN), revents: 0)
            if poll(&descriptor, 1, Int32(delay * 1000)) > 0 { return }
            startedAt = monotonicNow()
            do throws(EmbeddedBrokerError) {
                child = try broker.launch(executable, files: files)
                return
            } catch {
                status = "\(error)"
            }
        }
    }
}
