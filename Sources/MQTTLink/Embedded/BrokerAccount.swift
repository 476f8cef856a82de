import Glibc

/// The account that the embedded mosquitto runs under where the daemon is root.
struct BrokerAccount: Sendable {
    let name: String
    let user: uid_t
    let group: gid_t

    /// mosquitto's own, which its package makes; nil where we are not root, or it is missing and mosquitto runs as we do.
    static let current: BrokerAccount? = {
        guard geteuid() == 0, let entry = getpwnam("mosquitto")?.pointee, entry.pw_uid != 0 else { return nil }
        return BrokerAccount(name: "mosquitto", user: entry.pw_uid, group: entry.pw_gid)
    }()

    /// Makes a file this account's; one that is not there stays so, and so does one that has another name elsewhere, or is none.
    func own(_ path: String) {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else { return }
        fchown(descriptor, user, group)
    }
}
