import Glibc

/// The account that the embedded mosquitto runs under where the daemon is root.
struct BrokerAccount: Sendable {
    let name: String
    private let user: uid_t
    private let group: gid_t

    /// mosquitto's own, which its package makes; nil where we are not root, or it is missing and mosquitto runs as we do.
    static let current: BrokerAccount? = {
        guard geteuid() == 0, let entry = getpwnam("mosquitto")?.pointee, entry.pw_uid != 0 else { return nil }
        return BrokerAccount(name: "mosquitto", user: entry.pw_uid, group: entry.pw_gid)
    }()

    /// Makes a file or folder this account's; one that is not there stays so.
    func own(_ path: String) { lchown(path, user, group) }
}
