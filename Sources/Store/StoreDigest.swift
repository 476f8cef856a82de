import CZlib
import Foundation

/// The size of a database that was closed, and the sum of all its bytes, in a file beside it.
///
/// SQLite notices where the structure of its pages is damaged, and not where a value is another one. A start that finds the digest it
/// expects knows that the disk gave back what was written; one that finds none knows nothing: the last end was not clean, or the file
/// is a copy.
struct StoreDigest: Equatable {
    let size: Int64
    /// CRC-32; nil where there is more than is read at each end.
    let sum: UInt32?

    /// A second of reading, or five from a slow disk.
    private static let sizeMax: Int64 = 1 << 30

    private static func file(of path: String) -> String { path + ".digest" }

    /// Of the file as it is; nil where it cannot be read.
    init?(of path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        size = Int64(status.st_size)
        guard size <= Self.sizeMax else {
            sum = nil
            return
        }
        var sum = crc32(0, nil, 0)
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            sum = crc32(sum, chunk, UInt32(count))
        }
        self.sum = UInt32(sum)
    }

    /// What was written beside a database; nil where nothing was, or nothing that can be read.
    init?(besides path: String) {
        guard let text = try? String(contentsOfFile: Self.file(of: path), encoding: .utf8) else { return nil }
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let size = words.first.flatMap({ Int64($0) }) else { return nil }
        self.size = size
        sum = words.count > 1 ? UInt32(words[1], radix: 16) : nil
    }

    private var text: String { sum.map { "\(size) \(String($0, radix: 16))\n" } ?? "\(size)\n" }

    /// Writes it beside the database. Where that fails there is none.
    func write(besides path: String) {
        let file = Self.file(of: path)
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        if Glibc.write(descriptor, bytes, bytes.count) != bytes.count || fsync(descriptor) != 0 { unlink(file) }
    }

    /// Removes it durably: what is written from now on is another file.
    static func remove(besides path: String) {
        guard unlink(file(of: path)) == 0 else { return }
        let folder = open(DataDirectory.parent(of: path) ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        _ = fsync(folder)
        close(folder)
    }

    /// Gives the digest of one file to another one, which is to have its name.
    static func rename(_ path: String, to other: String) {
        remove(besides: other)
        _ = Glibc.rename(file(of: path), file(of: other))
    }
}
