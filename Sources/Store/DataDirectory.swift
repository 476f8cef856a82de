import Foundation

/// The folder that holds everything a daemon keeps, locked for one process.
///
/// The lock lasts as long as a copy of this value does, and ends with the process however that ends. Child processes do not inherit it.
public struct DataDirectory: Sendable {
    /// As given.
    public let path: String
    private let lock: Lock

    /// Creates the folder, for its owner only, where it is missing, and locks it.
    public init(path: String) throws(DataDirectoryError) {
        self.path = path
        try Self.create(path)
        lock = try Lock(folder: path)
    }

    /// The path of something in the folder.
    public func file(_ name: String) -> String {
        path.hasSuffix("/") ? path + name : path + "/" + name
    }

    /// The database of the ``Store``.
    public var storePath: String { file("geomatch.sqlite") }

    private static func create(_ path: String) throws(DataDirectoryError) {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw .notWritable(path: path, reason: "it is not a folder")
            }
            guard access(path, W_OK | X_OK) == 0 else { throw .notWritable(path: path, reason: lastReason()) }
            return
        }
        if let parent = parent(of: path) {
            do {
                try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            } catch {
                throw .notWritable(path: path, reason: "the folder \(parent) cannot be created")
            }
        }
        // Made by another process in between is as good as made here.
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .notWritable(path: path, reason: lastReason()) }
    }

    /// The folder that `path` lies in; `nil` for a name alone. Not NSString's, which on Linux stops the program at a path of one
    /// character.
    static func parent(of path: String) -> String? {
        let parts = path.split(separator: "/")
        guard parts.count > 1 else { return nil }
        return (path.hasPrefix("/") ? "/" : "") + parts.dropLast().joined(separator: "/")
    }

    /// A locked file that holds our process id, for a process that finds it locked.
    private final class Lock: Sendable {
        private let descriptor: Int32

        init(folder: String) throws(DataDirectoryError) {
            let opened = open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard opened >= 0 else { throw .notWritable(path: folder, reason: lastReason()) }
            guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                let holder = Self.holder(opened)
                close(opened)
                if code == EWOULDBLOCK { throw .inUse(pid: holder) }
                throw .notWritable(path: folder, reason: reason(of: code))
            }
            // A full disk must not keep the daemon from starting: without the number the lock still holds.
            let text = Array("\(getpid())\n".utf8)
            _ = ftruncate(opened, 0)
            _ = pwrite(opened, text, text.count, 0)
            // Last, because what throws once everything is set runs the deinitialiser, and that is for the lock's holder only.
            descriptor = opened
        }

        deinit {
            // The file stays: removing it would let two processes lock two files of the same name.
            _ = ftruncate(descriptor, 0)
            close(descriptor)
        }

        private static func holder(_ descriptor: Int32) -> Int32? {
            var bytes = [UInt8](repeating: 0, count: 16)
            let count = pread(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return nil }
            let digits = bytes[..<count].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return Int32(String(decoding: digits, as: UTF8.self))
        }
    }
}

/// Why a data directory cannot be used, with the way out.
public enum DataDirectoryError: Error, Equatable, Sendable {
    /// Another process has it; nil where it has not said which one yet.
    case inUse(pid: Int32?)
    case notWritable(path: String, reason: String)
}

extension DataDirectoryError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .inUse(let pid?):
            "the data directory is in use by process \(pid); stop that one, or choose another folder with --data-dir"
        case .inUse(nil):
            "the data directory is in use by another process; stop that one, or choose another folder with --data-dir"
        case .notWritable(let path, let reason):
            "the data directory \(path) cannot be written (\(reason)); make it writable, or choose another folder with --data-dir"
        }
    }
}

private func lastReason() -> String { reason(of: errno) }

private func reason(of code: Int32) -> String { String(cString: strerror(code)) }
