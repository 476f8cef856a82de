import Glibc

/// Who listens on a TCP port, as far as /proc shows it to us.
enum PortHolder {
    static func describe(port: Int) -> String? {
        let sockets = listeningSockets(port: port)
        guard !sockets.isEmpty else { return nil }
        for process in entries(of: "/proc").compactMap({ Int32($0) }) {
            for descriptor in entries(of: "/proc/\(process)/fd") {
                guard let target = link("/proc/\(process)/fd/\(descriptor)"), sockets.contains(target) else { continue }
                let name = BrokerFiles.read("/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init)
                return "\(name ?? "a process") (process \(process))"
            }
        }
        return nil
    }

    /// The links `socket:[inode]` of the listening sockets. Format: Linux Documentation/networking/proc_net_tcp.rst.
    private static func listeningSockets(port: Int) -> Set<String> {
        var found: Set<String> = []
        let hex = String(port, radix: 16, uppercase: true)
        let suffix = ":" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
        for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
            for line in (BrokerFiles.read(file) ?? "").split(separator: "\n").dropFirst() {
                let fields = line.split(separator: " ", omittingEmptySubsequences: true)
                // 0A is TCP_LISTEN.
                guard fields.count > 9, fields[1].hasSuffix(suffix), fields[3] == "0A" else { continue }
                found.insert("socket:[\(fields[9])]")
            }
        }
        return found
    }

    private static func entries(of path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var found: [String] = []
        while let entry = readdir(folder) {
            found.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return found
    }

    private static func link(_ path: String) -> String? {
        var target = [UInt8](repeating: 0, count: 256)
        let count = target.withUnsafeMutableBytes {
            $0.withMemoryRebound(to: CChar.self) { place in
                place.baseAddress.map { readlink(path, $0, place.count) } ?? -1
            }
        }
        return count > 0 ? String(decoding: target[..<count], as: UTF8.self) : nil
    }
}
