import Dispatch
import Glibc
import Wire

/// The durable messages in two files, so that a cursor of one life is good in the next: one that is written, and the one before.
///
/// Writing happens on a queue of its own; the core's thread never waits for it. What a crash takes from the end was not
/// acknowledged by its recipient for long, or is sent again.
final class MessageFile: Sendable {
    /// What the files hold.
    struct Contents {
        /// Everything after this number is among the messages, but what is old.
        var after: Int64?
        /// Everything of these clients after these numbers is, in place of ``after``.
        var lost: [StreamKey: Int64] = [:]
        var messages: [Stored] = []
    }

    struct Stored {
        var number: Int64
        var at: Int64
        var key: StreamKey
        var path: String
        var payload: [UInt8]
    }

    private let path: String
    private let queue = DispatchQueue(label: "geomatch.http-messages")
    /// Belongs to the queue.
    private nonisolated(unsafe) var descriptor: Int32 = -1
    private nonisolated(unsafe) var bytes = 0
    private nonisolated(unsafe) var openedAt: Int64 = 0
    /// Of each client, for the head of the next file: what is not in it is known to be older. Belongs to the queue.
    private nonisolated(unsafe) var lastNumbers = LastNumbers()

    /// With two of them an hour is always covered, unless there is more than this in it.
    private static let bytesMax = 64 << 20

    init(folder: String) { path = "\(folder)/http-messages" }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private var formerPath: String { path + ".1" }

    /// Reads what former lives left.
    func read() -> Contents {
        var contents = Contents()
        for path in [formerPath, path] {
            guard let text = Self.contents(of: path) else { continue }
            // The head of the second file is about what the first one has.
            let isFirst = contents.after == nil
            for line in text.split(separator: 0x0A) {
                guard case .object(let object)? = try? JSONValue.parse(Array(line)) else { continue }
                if let after = object["after"]?.asInt64 {
                    if contents.after == nil { contents.after = after }
                } else if let last = object["last"]?.asInt64 {
                    guard isFirst, let key = StreamKey(object) else { continue }
                    contents.lost[key] = last
                } else if let dataset = object["forgotten"]?.asString {
                    contents.forget(dataset: dataset)
                } else if let stored = Stored(object) {
                    contents.messages.append(stored)
                }
            }
        }
        let numbers = contents.lastNumbers
        queue.sync { lastNumbers = numbers }
        return contents
    }

    private static func contents(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        // Whatever made it larger is none of ours.
        while bytes.count < 2 * bytesMax, case let count = Glibc.read(descriptor, &chunk, chunk.count), count > 0 {
            bytes += chunk.prefix(count)
        }
        return bytes
    }

    /// Keeps a message.
    ///
    /// - Parameter last: The highest number before it.
    func append(_ stored: Stored, after last: Int64) {
        queue.async { [self] in
            if descriptor < 0 { goOn(at: stored.at) }
            if descriptor < 0 || bytes > Self.bytesMax || stored.at - openedAt >= DurableMessages.lifetimeMilliseconds {
                turnOver(at: stored.at, after: last)
            }
            write(stored.line)
            // One that is sent again, of before this file, says nothing of those between.
            lastNumbers.note(max(stored.number, last), of: stored.key)
        }
    }

    /// Has what there is of a dataset read no more.
    ///
    /// - Parameter last: The highest number so far.
    func forget(dataset: String, through last: Int64, at now: Int64) {
        queue.async { [self] in
            if descriptor < 0 { goOn(at: now) }
            if descriptor < 0 { turnOver(at: now, after: last) }
            write(
                JSONWriter.object { writer in
                    writer.member("forgotten", dataset)
                    // Daemons before this one read no such line without it.
                    writer.member("through", last)
                } + [0x0A])
        }
    }

    /// Goes on with the file of a former life.
    private func goOn(at now: Int64) {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        openedAt = now
        bytes = Int(lseek(descriptor, 0, SEEK_END))
        // The last line may lack its end.
        write([0x0A])
    }

    private func turnOver(at now: Int64, after last: Int64) {
        if descriptor >= 0 { close(descriptor) }
        rename(path, formerPath)
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0o600)
        if descriptor < 0 { lose() }
        openedAt = now
        bytes = 0
        write(Array("{\"after\":\(last)}\n".utf8))
        // A client whose last message was before this file misses nothing of what others had since.
        write(lastNumbers.numbers.flatMap { Self.lastLine($0.key, $0.value) })
    }

    private static func lastLine(_ key: StreamKey, _ number: Int64) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("last", number)
            writer.member("dataset", key.dataset)
            writer.member("client", key.client)
        } + [0x0A]
    }

    /// What cannot be written is not kept: then a gap is reported in the next life.
    private func write(_ line: [UInt8]) {
        var rest = line[...]
        while descriptor >= 0, !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                close(descriptor)
                descriptor = -1
                lose()
                return
            }
            rest = rest.dropFirst(count)
        }
        bytes += line.count
    }

    /// The former file alone would hide that something is missing behind it, and what a lost line forgets would be read again.
    private func lose() {
        unlink(path)
        unlink(formerPath)
    }

    /// Waits until everything is written.
    func flush() { queue.sync {} }
}

extension MessageFile.Contents {
    /// Only clients that had messages have lost any.
    fileprivate mutating func forget(dataset: String) {
        for message in messages where message.key.dataset == dataset {
            lost[message.key] = max(lost[message.key] ?? after ?? 0, message.number)
        }
        messages.removeAll { $0.key.dataset == dataset }
    }

    /// Empty where nothing says what came before the messages.
    fileprivate var lastNumbers: LastNumbers {
        var numbers = LastNumbers()
        guard var highest = after else { return numbers }
        for (key, number) in lost { numbers.note(number, of: key) }
        for message in messages {
            highest = max(highest, message.number)
            numbers.note(highest, of: message.key)
        }
        return numbers
    }
}

extension StreamKey {
    fileprivate init?(_ object: JSONObject) {
        guard let dataset = object["dataset"]?.asString, let client = object["client"]?.asString else { return nil }
        self.init(dataset: dataset, client: client)
    }
}

extension MessageFile.Stored {
    init?(_ object: JSONObject) {
        guard let number = object["number"]?.asInt64, let at = object["at"]?.asInt64, let key = StreamKey(object),
            let path = object["path"]?.asString, let payload = object["payload"]
        else { return nil }
        self.init(number: number, at: at, key: key, path: path, payload: payload.asString.map { Array($0.utf8) } ?? [])
    }

    fileprivate var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("number", number)
        writer.member("at", at)
        writer.member("dataset", key.dataset)
        writer.member("client", key.client)
        writer.member("path", path)
        // As text: it is given back byte for byte.
        writer.member("payload", String(decoding: payload, as: UTF8.self))
        writer.endObject()
        return writer.bytes + [0x0A]
    }
}
