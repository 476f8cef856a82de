import Dispatch
import Glibc
import Wire

/// How far devices have heard, in a file: who comes again after a restart of the daemon hears nothing twice.
///
/// It is written whole, on a queue of its own. What a crash takes from it is sent once more.
final class HeardFile: Sendable {
    private let path: String
    private let queue = DispatchQueue(label: "geomatch.matchmore-heard")

    init(folder: String) { path = "\(folder)/matchmore-heard" }

    func read() -> [(MatchSockets.Device, MatchSockets.Heard)] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while bytes.count < Self.bytesMax, case let count = Glibc.read(file, &chunk, chunk.count), count > 0 {
            bytes += chunk.prefix(count)
        }
        return bytes.split(separator: 0x0A).compactMap { Self.entry(Array($0)) }
    }

    /// Whatever made it larger is none of ours.
    private static let bytesMax = 128 << 20

    private static func entry(_ line: [UInt8]) -> (MatchSockets.Device, MatchSockets.Heard)? {
        guard let object = (try? JSONValue.parse(line))?.asObject, let world = object["world"]?.asString,
            let device = object["device"]?.asString, let id = object["match"]?.asString, let number = object["number"]?.asInt64
        else { return nil }
        return (MatchSockets.Device(world: world, id: device), MatchSockets.Heard(id: id, number: number))
    }

    func write(_ entries: [(MatchSockets.Device, MatchSockets.Heard)]) {
        queue.async { [path] in
            var bytes: [UInt8] = []
            for (device, heard) in entries {
                bytes += JSONWriter.object { writer in
                    writer.member("world", device.world)
                    writer.member("device", device.id)
                    writer.member("match", heard.id)
                    writer.member("number", heard.number)
                }
                bytes.append(0x0A)
            }
            Self.replace(path, by: bytes)
        }
    }

    /// Whole or not at all.
    private static func replace(_ path: String, by bytes: [UInt8]) {
        let draft = path + ".new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
        rename(draft, path)
    }

    /// Waits until everything is written.
    func flush() { queue.sync {} }
}
