import Glibc

/// What the system says of this process, under the names that Prometheus's own clients use.
struct ProcessFigures {
    var cpuSeconds: Double
    var residentBytes: Double
    var virtualBytes: Double
    var openFiles: Double
    var maximumFiles: Double
    var startSeconds: Double

    /// nil where the system does not say it.
    init?() {
        guard let stat = Self.text(of: "/proc/self/stat"), let end = stat.lastIndex(of: ")"), let boot = Self.bootSeconds() else {
            return nil
        }
        // The name in parentheses may hold spaces; behind it the third field begins.
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        guard fields.count > 21 else { return nil }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        func field(_ number: Int) -> Double { Double(fields[number - 3]) ?? 0 }
        cpuSeconds = (field(14) + field(15)) / ticks
        startSeconds = boot + field(22) / ticks
        virtualBytes = field(23)
        residentBytes = field(24) * Double(sysconf(Int32(_SC_PAGESIZE)))
        openFiles = Double(Self.openFileCount())
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        maximumFiles = Double(limit.rlim_cur)
    }

    private static func bootSeconds() -> Double? {
        let line = text(of: "/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
        return line.flatMap { Double($0.dropFirst(6)) }
    }

    private static func openFileCount() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // `.`, `..` and the folder itself.
        return max(0, count - 3)
    }

    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(descriptor, &chunk, chunk.count), count > 0 { bytes += chunk.prefix(count) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
