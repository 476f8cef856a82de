import Dispatch
import Glibc
import Synchronization
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

    private let folder: String
    private let queue = DispatchQueue(label: "geomatch.http-messages")
    /// Belongs to the queue.
    private nonisolated(unsafe) var descriptor: Int32 = -1
    private nonisolated(unsafe) var bytes = 0
    private nonisolated(unsafe) var openedAt: Int64 = 0
    /// Of each client, for the head of the next file: what is not in it is known to be older. Belongs to the queue.
    private nonisolated(unsafe) var lastNumbers = LastNumbers()
    /// What is still in the files though it is to be forgotten, each up to a number. Belongs to the queue.
    private nonisolated(unsafe) var forgotten: [(messages: ForgottenMessages, last: Int64)] = []
    /// How often something was to be forgotten.
    private let forgetCount = Mutex(0)

    /// With two of them an hour is always covered, unless there is more than this in it.
    private static let bytesMax = 64 << 20

    init(folder: String) { self.folder = folder }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private var path: String { folder + "/http-messages" }
    private var formerPath: String { path + ".1" }

    /// Reads what former lives left.
    func read() -> Contents {
        let contents = contents()
        let numbers = contents.lastNumbers
        queue.sync { lastNumbers = numbers }
        return contents
    }

    private func contents() -> Contents {
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
                    // Of daemons before this one, which left what they forgot in the file.
                    _ = contents.remove { $0.key.dataset == dataset }
                } else if let stored = Stored(object) {
                    contents.messages.append(stored)
                }
            }
        }
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

    /// Removes messages from the files, soon.
    ///
    /// - Parameter last: The highest number so far: what comes later stays.
    func forget(_ messages: ForgottenMessages, through last: Int64, at now: Int64) {
        let count = forgetCount.withLock { count in
            count += 1
            return count
        }
        queue.async { [self] in
            forgotten.append((messages, last))
            // Of several that wait, the last one has the files written anew for all.
            guard forgetCount.withLock({ $0 }) == count else { return }
            removeForgotten(at: now)
            forgotten = []
        }
    }

    /// Writes one file in place of both, without what is to be forgotten, and no larger than one is.
    private func removeForgotten(at now: Int64) {
        var contents = contents()
        let isForgotten = contents.remove { stored in
            forgotten.contains { messages, last in
                stored.number <= last && stored.key.dataset == messages.dataset && messages.include(stored.payload)
            }
        }
        guard isForgotten else { return }
        var room = Self.bytesMax
        let newest = contents.messages.reversed().prefix { stored in
            room -= stored.payload.count + stored.path.utf8.count + 160
            return room > 0 && now - stored.at < DurableMessages.lifetimeMilliseconds
        }
        var surplus = contents.messages.count - newest.count
        _ = contents.remove { _ in
            surplus -= 1
            return surplus >= 0
        }
        let isWritten = contents.after.map { replaceFiles(with: Self.text(of: contents, after: $0)) } ?? false
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
        if isWritten { goOn(at: now) } else { lose() }
    }

    private static func text(of contents: Contents, after: Int64) -> [UInt8] {
        let lasts = contents.lost.flatMap { lastLine($0.key, $0.value) }
        return headLine(after) + lasts + contents.messages.flatMap(\.line)
    }

    /// After a crash amid this there are the files as they were, or only the second one, whose head says what is missing before it.
    private func replaceFiles(with text: [UInt8]) -> Bool {
        let draft = path + ".new"
        defer { unlink(draft) }
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        guard Self.write(text, to: file), fsync(file) == 0 else { return false }
        unlink(formerPath)
        guard rename(draft, path) == 0 else { return false }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if directory >= 0 {
            fsync(directory)
            close(directory)
        }
        return true
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
        write(Self.headLine(last))
        // A client whose last message was before this file misses nothing of what others had since.
        write(lastNumbers.numbers.flatMap { Self.lastLine($0.key, $0.value) })
    }

    private static func headLine(_ last: Int64) -> [UInt8] { Array("{\"after\":\(last)}\n".utf8) }

    private static func lastLine(_ key: StreamKey, _ number: Int64) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("last", number)
            writer.member("dataset", key.dataset)
            writer.member("client", key.client)
        } + [0x0A]
    }

    /// What cannot be written is not kept: then a gap is reported in the next life.
    private func write(_ line: [UInt8]) {
        guard descriptor >= 0 else { return }
        guard Self.write(line, to: descriptor) else {
            close(descriptor)
            descriptor = -1
            return lose()
        }
        bytes += line.count
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// The former file alone would hide that something is missing behind it, and what is to be forgotten would be read again.
    private func lose() {
        unlink(path)
        unlink(formerPath)
    }

    /// Waits until everything is written.
    func flush() { queue.sync {} }
}

extension MessageFile.Contents {
    /// Only clients that had messages have lost any.
    ///
    /// - Returns: Whether there were such messages.
    fileprivate mutating func remove(where isRemoved: (MessageFile.Stored) -> Bool) -> Bool {
        let count = messages.count
        let after = after
        var lost = lost
        messages.removeAll { message in
            guard isRemoved(message) else { return false }
            lost[message.key] = max(lost[message.key] ?? after ?? 0, message.number)
            return true
        }
        self.lost = lost
        return messages.count < count
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
