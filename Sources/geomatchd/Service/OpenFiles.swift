import Glibc

/// How many files this process and its children may open.
enum OpenFiles {
    /// Raises the soft limit to the hard one; each connection of the embedded mosquitto is one.
    ///
    /// - Returns: The limit that holds now.
    @discardableResult
    static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return Int(clamping: limit.rlim_cur)
    }
}
