import DaemonCore
import Foundation
import Glibc
import ServiceLifecycle

/// Notifies systemd that the daemon is alive (`WatchdogSec=`), and when it begins to end.
struct NotifyService: Service {
    let health: Health
    /// Has the core's thread take a turn.
    let wake: @Sendable () -> Void

    /// How often the core's thread must have taken a turn: a third of the watchdog's time.
    static func pause(_ environment: [String: String]) -> Duration? {
        guard let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0 else { return nil }
        if let owner = environment["WATCHDOG_PID"], owner != "\(getpid())" { return nil }
        return .microseconds(microseconds / 3)
    }

    func run() async throws {
        if let pause = Self.pause(ProcessInfo.processInfo.environment) {
            try? await cancelWhenGracefulShutdown { try await watch(every: pause) }
        } else {
            await untilEnd()
        }
        Self.send("STOPPING=1")
    }

    /// A loop that takes no turn between two looks hangs, and that is what the watchdog is for.
    private func watch(every pause: Duration) async throws {
        while true {
            let turns = health.turns
            wake()
            try await Task.sleep(for: pause)
            if health.turns != turns { Self.send("WATCHDOG=1") }
        }
    }

    /// To where `NOTIFY_SOCKET` says; its absence is no error.
    static func send(_ text: String) {
        guard let path = ProcessInfo.processInfo.environment["NOTIFY_SOCKET"], !path.isEmpty else { return }
        send(text, to: path)
    }

    /// One datagram.
    static func send(_ text: String, to path: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        // `@` stands for the NUL of an abstract name.
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let message = Array(text.utf8)
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
