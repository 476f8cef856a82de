import Foundation
import Testing

/// Runs `body` with a scratch folder that is removed afterwards.
func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    let folder = try makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
}

/// A scratch folder, for the caller to remove.
func makeFolder() throws -> String {
    let template = try #require(strdup("/tmp/geomatch-test-XXXXXX"))
    defer { free(template) }
    try #require(mkdtemp(template) != nil)
    return String(cString: template)
}

/// A loopback port nobody has at the moment.
func freePort() -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            _ = bind(descriptor, $0, size)
            getsockname(descriptor, $0, &size)
        }
        return Int(UInt16(bigEndian: $0.pointee.sin_port))
    }
}

/// True as soon as `isReached` holds; false after `seconds`. For what nobody tells: files, ports, other processes.
func eventually(seconds: Double = 20, _ isReached: () throws -> Bool) rethrows -> Bool {
    let limit = Date(timeIntervalSinceNow: seconds)
    while Date() < limit {
        if try isReached() { return true }
        usleep(10_000)
    }
    return try isReached()
}

/// Whether somebody accepts connections on this loopback port.
func accepts(port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
