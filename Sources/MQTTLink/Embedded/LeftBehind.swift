import Glibc

/// The mosquitto that a killed daemon left behind: known by its command line, which names our configuration file.
enum LeftBehind {
    /// Ends every such process: SIGTERM, so that it saves, and SIGKILL after five seconds.
    ///
    /// All processes are looked at, since a daemon may die between starting one and writing its number down.
    static func end(files: BrokerFiles, log: (String) -> Void) throws(EmbeddedBrokerError) {
        for process in processes().sorted() where isOurs(process, files.configurationFiles) {
            log("ending the mosquitto an earlier run left behind (process \(process))")
            try end(process, files.configurationFiles)
        }
        unlink(files.processFile)
    }

    private static func end(_ process: Int32, _ configurationFiles: [String]) throws(EmbeddedBrokerError) {
        for signal in [SIGTERM, SIGKILL] {
            kill(process, signal)
            let deadline = monotonicNow() + 5_000_000_000
            while monotonicNow() < deadline {
                // Not our child, so there is nothing to wait on: looked at each 10 ms.
                if !isOurs(process, configurationFiles) { return }
                usleep(10_000)
            }
        }
        throw .leftBehind(processID: process)
    }

    /// A process that ended, even one nobody has reaped, has no command line.
    static func isOurs(_ process: Int32, _ configurationFiles: [String]) -> Bool {
        guard process > 1, let line = BrokerFiles.read("/proc/\(process)/cmdline") else { return false }
        let arguments = line.split(separator: "\0")
        return arguments.first?.hasSuffix("mosquitto") == true && arguments.contains { configurationFiles.contains(String($0)) }
    }

    private static func processes() -> Set<Int32> {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: Set<Int32> = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let number = Int32(name) { found.insert(number) }
        }
        return found
    }
}
