import Glibc

/// The users file, as it was read last, and whether it has changed since.
struct WatchedUsers {
    let path: String
    private(set) var users: UsersFile
    private var read: Version?
    /// Seen at the last look, and not yet read.
    private var pending: Version?

    /// A file that is replaced or written gets another one.
    private struct Version: Equatable {
        var device: UInt
        var inode: UInt
        var size: Int
        var seconds: Int
        var nanoseconds: Int
    }

    init(path: String) throws(EmbeddedBrokerError) {
        self.path = path
        read = Self.version(path)
        users = try BrokerFiles.readUsers(path)
    }

    /// The file as it is now, where it has changed and rests: tools write it piece by piece.
    ///
    /// - Throws: once for each change that cannot be used; what was read before stays.
    mutating func changed() throws(EmbeddedBrokerError) -> UsersFile? {
        let version = Self.version(path)
        guard version != read else {
            pending = nil
            return nil
        }
        guard version == pending else {
            pending = version
            return nil
        }
        read = version
        let users = try BrokerFiles.readUsers(path)
        return users == self.users ? nil : users
    }

    /// The broker has these now.
    mutating func take(_ users: UsersFile) { self.users = users }

    private static func version(_ path: String) -> Version? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Version(
            device: status.st_dev, inode: status.st_ino, size: status.st_size, seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec)
    }
}
