import Glibc

/// What the daemon sends to geomatch's plugin in the embedded broker, over the private listener.
enum BrokerCommand {
    /// Users and access are to be read again. Blocks until it has been done.
    ///
    /// - Returns: false where mosquitto does not take it within five seconds.
    static func reload(socketPath: String) -> Bool {
        guard let socket = ListenAddress.connected(socketPath: socketPath) else { return false }
        defer { close(socket) }
        // CONNECT of MQTT 3.1.1 with a clean session, PUBLISH at QoS 0, DISCONNECT: they are carried out in order, and then
        // the other side closes.
        let topic = "$geomatch/reload"
        let connect: [UInt8] = string("MQTT") + [4, 2, 0, 5] + string("geomatchd-command")
        let packets: [UInt8] = packet(0x10, connect) + packet(0x30, string(topic)) + [0xE0, 0]
        guard packets.withUnsafeBytes({ send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }) == packets.count
        else { return false }
        let deadline = monotonicNow() + 5_000_000_000
        while true {
            let left = deadline.saturatingDistance(from: monotonicNow()) / 1_000_000
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&descriptor, 1, Int32(left)) > 0 else { return false }
            var answer = [UInt8](repeating: 0, count: 64)
            if read(socket, &answer, answer.count) <= 0 { return true }
        }
    }

    private static func string(_ text: String) -> [UInt8] {
        [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 0xFF)] + text.utf8
    }

    /// Up to 127 bytes.
    private static func packet(_ type: UInt8, _ body: [UInt8]) -> [UInt8] { [type, UInt8(body.count)] + body }
}
