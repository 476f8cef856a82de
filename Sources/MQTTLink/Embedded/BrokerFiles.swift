import Glibc

/// The folder of the embedded broker: its configuration, access list, memory and private socket.
///
/// Where mosquitto runs under an account of its own, its configuration and the library that is loaded into it are read before it has given
/// up root: that account can write neither them nor the folder, which has been ours from the beginning.
struct BrokerFiles: Sendable {
    let directory: String
    /// Of releases up to 0.1.0, all of it the account's: nothing there is used but the memory, which is moved.
    private let formerDirectory: String
    let socketDirectory: String
    var configurationFile: String { directory + "/" + Self.configurationName }
    /// That of a mosquitto of a former release may still run.
    var configurationFiles: [String] { [configurationFile, formerDirectory + "/" + Self.configurationName] }
    /// In which mosquitto runs: it need not be able to enter the folders above.
    var memoryDirectory: String { directory + "/memory" }
    private static let configurationName = "mosquitto.conf"
    private static let accessFile = "geomatch.acl"
    private static let usersFile = "users"
    private static let pluginFile = "geomatch-broker-plugin.so"
    private static let certificateFile = "listen-tls.crt"
    private static let keyFile = "listen-tls.key"
    private static let memoryName = "mosquitto.db"
    var memoryFile: String { memoryDirectory + "/" + Self.memoryName }
    /// Under which mosquitto runs; nil where it runs as we do.
    let account: BrokerAccount?
    var processFile: String { directory + "/mosquitto.pid" }
    var socket: String { socketDirectory + "/mqtt.sock" }
    /// Names the folder of the socket's where that had to lie elsewhere, so that the next start can remove it.
    private static let elsewhereFile = "/socket-directory"

    /// `sockaddr_un.sun_path` without its NUL.
    static let socketPathMaximum = 107

    /// Makes the folders.
    init(dataDirectory: String) throws(EmbeddedBrokerError) {
        account = BrokerAccount.current
        try Self.makeDirectories(dataDirectory)
        let root = try Self.absolute(dataDirectory)
        (directory, formerDirectory) = (root + "/embedded-broker", root + "/broker")
        try Self.makeDirectory(directory, readableTo: account)
        if access(directory, W_OK) != 0 { throw Self.notWritable(directory) }
        Self.removeElsewhere(recordedIn: directory)
        let near = directory + "/run"
        // mosquitto reads the path of a listener up to the first space.
        if (near + "/mqtt.sock").utf8.count <= Self.socketPathMaximum, !near.utf8.contains(0x20) {
            socketDirectory = near
        } else {
            let elsewhere = try Self.makeElsewhere()
            try Self.write(elsewhere, to: directory + Self.elsewhereFile)
            // What is in /tmp may be put in another's place by whom it belongs to.
            try Self.makeDirectory(elsewhere, readableTo: account)
            socketDirectory = elsewhere + "/run"
        }
        try Self.makeDirectory(socketDirectory, of: account)
        try Self.makeDirectory(memoryDirectory, of: account)
    }

    /// Writes what mosquitto reads at its start. No mosquitto runs.
    ///
    /// - Parameter users: What ``readUsers(_:)`` read.
    func write(_ configuration: EmbeddedBrokerConfiguration, users: UsersFile?) throws(EmbeddedBrokerError) {
        try prepareMemory()
        if let users { try writeUsers(users, configuration) }
        try writeCertificates(configuration)
        try Self.write(Array(configurationText(configuration).utf8), to: configurationFile, readableTo: account)
        unlink(socket)
    }

    private func prepareMemory() throws(EmbeddedBrokerError) {
        // It is there where such a release ran last.
        let former = formerDirectory + "/" + Self.memoryName
        if rename(former, memoryFile) != 0, errno != ENOENT, errno != ENOTDIR {
            guard errno == EXDEV else { throw Self.notWritable(former) }
            throw .directoryNotWritable(path: former, reason: "it is on another file system: move it to \(memoryFile)")
        }
        account?.own(memoryFile)
        removeUnfinished()
    }

    /// What a mosquitto was saving when it was killed, maybe one of another account.
    private func removeUnfinished() {
        let path = memoryDirectory + "/saving"
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else {
            unlink(path)
            return
        }
        for suffix in ["", ".new"] { unlinkat(folder, Self.memoryName + suffix, 0) }
        close(folder)
        rmdir(path)
    }

    /// Copies the certificate and the key of the encrypted listener, if both are there and look like one.
    func writeCertificates(_ configuration: EmbeddedBrokerConfiguration) throws(EmbeddedBrokerError) {
        guard let tls = configuration.encryptedListener else { return }
        for (path, mark) in [(tls.certificateFile, "-----BEGIN CERTIFICATE"), (tls.keyFile, "PRIVATE KEY-----")] {
            guard let text = Self.read(path) else {
                throw .fileUnreadable(path: path, reason: String(cString: strerror(errno)))
            }
            guard text.contains(mark) else { throw .fileUnreadable(path: path, reason: "it has no \(mark)") }
        }
        try copy(tls.certificateFile, to: Self.certificateFile, of: account)
        try copy(tls.keyFile, to: Self.keyFile, of: account)
    }

    /// Writes who may log in and what they may do.
    func writeUsers(_ users: UsersFile, _ configuration: EmbeddedBrokerConfiguration) throws(EmbeddedBrokerError) {
        let list = configuration.accessList(users.names)
        let access = list.text(for: configuration.pluginFile == nil ? .mosquitto(datasets: []) : .plugin)
        // mosquitto warns of those that are not its own.
        try Self.write(Array(access.utf8), to: directory + "/" + Self.accessFile, of: account)
        try Self.write(Array(users.text.utf8), to: directory + "/" + Self.usersFile, of: account)
    }

    /// Removes what must not stay: the socket, and its folder where it lies elsewhere.
    func removeSocket() {
        unlink(socket)
        Self.removeElsewhere(recordedIn: directory)
    }

    private func configurationText(_ configuration: EmbeddedBrokerConfiguration) throws(EmbeddedBrokerError) -> String {
        var text = """
            # Written by geomatchd at each start: changes are lost.
            per_listener_settings true
            \(geteuid() == 0 ? "user \(account?.name ?? "root")\n" : "")\
            log_dest stderr
            log_timestamp false
            log_type error
            log_type warning
            log_type notice
            connection_messages true
            set_tcp_nodelay true
            max_queued_messages \(configuration.queuedMessagesMaximum)
            max_queued_bytes \(configuration.queuedBytesMaximum)
            # A request of up to 1 MiB gets an answer; a packet beyond this ends its connection.
            max_packet_size \(2 << 20)
            persistent_client_expiration \(configuration.sessionDaysMaximum)d
            persistence true
            persistence_location ./
            persistence_file \(Self.memoryName)
            # The daemon asks for it when it fits the size: everything is written each time.
            autosave_interval 0

            """
        let plugin = try configuration.pluginFile.map { file throws(EmbeddedBrokerError) in try reachable(plugin: file) }
        text += listener(port: configuration.port, host: configuration.host, configuration, plugin)
        if let tls = configuration.encryptedListener {
            text += listener(port: tls.port, host: tls.host, configuration, plugin)
            text += "certfile \(Self.above(Self.certificateFile))\nkeyfile \(Self.above(Self.keyFile))\n"
        }
        let place = socketDirectory.hasPrefix(directory) ? Self.above("run/mqtt.sock") : socket
        return text + """

            # For the daemon: a process that can enter the folder is trusted, and only ours can.
            listener 0 \(place)
            allow_anonymous true
            \(plugin.map { "plugin \($0)\n" } ?? "")\
            \(plugin != nil && configuration.ring != nil ? "plugin_opt_ring 3\nplugin_opt_wake 4\n" : "")
            """
    }

    /// For everybody.
    private func listener(
        port: Int, host: String, _ configuration: EmbeddedBrokerConfiguration, _ plugin: String?
    ) -> String {
        let hasUsers = configuration.usersFile != nil
        var lines = ["", "listener \(port) \(host)", "max_connections \(configuration.connectionsMaximum)"]
        lines.append("allow_anonymous \(!hasUsers)")
        if let plugin {
            lines += [
                "plugin \(plugin)", "plugin_opt_role everybody", "plugin_opt_port \(port)",
                "plugin_opt_login \(configuration.loginSeconds)", "plugin_opt_memory \(configuration.memoryBytesMaximum)",
            ]
            if hasUsers {
                lines += ["plugin_opt_users \(Self.above(Self.usersFile))", "plugin_opt_access \(Self.above(Self.accessFile))"]
            }
        } else if hasUsers {
            lines += ["password_file \(Self.above(Self.usersFile))", "acl_file \(Self.above(Self.accessFile))"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A path at which mosquitto can load the plugin: a copy beside the configuration where it runs as another user.
    func pathOfPlugin(_ plugin: String) -> String { account == nil ? plugin : Self.above(Self.pluginFile) }

    /// The path of a file beside the configuration for mosquitto.
    private static func above(_ name: String) -> String { "../" + name }

    private func reachable(plugin: String) throws(EmbeddedBrokerError) -> String {
        if account != nil { try copy(plugin, to: Self.pluginFile, readableTo: account) }
        return pathOfPlugin(plugin)
    }

    // MARK: Folders and files

    private static func makeDirectories(_ path: String) throws(EmbeddedBrokerError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/" + part
            if mkdir(made, 0o755) != 0 && errno != EEXIST && errno != EISDIR && errno != EROFS { throw notWritable(path) }
        }
    }

    /// A folder of one account alone (0700), ours where none is given, or ours that another may enter and list (0750). A link that lies
    /// there is no folder.
    private static func makeDirectory(
        _ path: String, of owner: BrokerAccount? = nil, readableTo reader: BrokerAccount? = nil
    ) throws(EmbeddedBrokerError) {
        if mkdir(path, 0o700) != 0 && errno != EEXIST { throw notWritable(path) }
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw notWritable(path) }
        defer { close(folder) }
        var status = stat()
        if let reader, fstat(folder, &status) == 0, status.st_uid == reader.user {
            // It may have put there what we would load.
            throw .directoryNotWritable(
                path: path, reason: "it belongs to \(reader.name), and must not: choose another data directory")
        }
        guard give(folder, to: owner, readableTo: reader, 0o700) else { throw notWritable(path) }
    }

    /// Whose a file or folder is first, so that a former owner has no say in the rest.
    private static func give(
        _ descriptor: Int32, to owner: BrokerAccount?, readableTo reader: BrokerAccount?, _ mode: mode_t
    ) -> Bool {
        if let account = owner ?? reader, fchown(descriptor, owner?.user ?? geteuid(), account.group) != 0 { return false }
        return fchmod(descriptor, reader == nil ? mode : mode | (mode & 0o500) >> 3) == 0
    }

    private static func makeElsewhere() throws(EmbeddedBrokerError) -> String {
        for parent in [getenv("TMPDIR").map { String(cString: $0) }, "/tmp"].compactMap({ $0 }) {
            guard parent.utf8.count <= 76, !parent.utf8.contains(0x20), let template = strdup(parent + "/geomatch-XXXXXX") else {
                continue
            }
            defer { free(template) }
            // mkdtemp makes it 0700.
            if mkdtemp(template) != nil { return String(cString: template) }
        }
        throw notWritable("/tmp")
    }

    private static func removeElsewhere(recordedIn directory: String) {
        guard let path = read(directory + elsewhereFile) else { return }
        unlink(path + "/run/mqtt.sock")
        for folder in [path + "/run", path] { rmdir(folder) }
        unlink(directory + elsewhereFile)
    }

    private static func absolute(_ path: String) throws(EmbeddedBrokerError) -> String {
        guard let resolved = realpath(path, nil) else { throw notWritable(path) }
        defer { free(resolved) }
        let text = String(cString: resolved)
        // A line end in a path would be a line of mosquitto's configuration.
        guard !text.utf8.contains(where: { $0 < 0x20 }) else {
            throw .directoryNotWritable(path: text, reason: "its name holds a control character")
        }
        return text
    }

    private static func notWritable(_ path: String) -> EmbeddedBrokerError {
        .directoryNotWritable(path: path, reason: String(cString: strerror(errno)))
    }

    /// - Throws: `usersFileUnreadable` or `usersFileWrong`.
    static func readUsers(_ path: String) throws(EmbeddedBrokerError) -> UsersFile {
        let text = try text(of: path) { .usersFileUnreadable(path: path, reason: $0) }
        do throws(UsersFile.Problem) {
            return try UsersFile(text)
        } catch {
            throw .usersFileWrong(path: path, line: error.line, reason: error.reason)
        }
    }

    private static func text(
        of path: String, otherwise failure: (String) -> EmbeddedBrokerError
    ) throws(EmbeddedBrokerError) -> String {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { throw failure("it is a directory") }
        guard let text = read(path) else { throw failure(String(cString: strerror(errno))) }
        return text
    }

    private func copy(
        _ path: String, to name: String, of owner: BrokerAccount? = nil, readableTo reader: BrokerAccount? = nil
    ) throws(EmbeddedBrokerError) {
        guard let bytes = Self.readBytes(path) else {
            throw .fileUnreadable(path: path, reason: String(cString: strerror(errno)))
        }
        try Self.write(bytes, to: directory + "/" + name, of: owner, readableTo: reader)
    }

    static func write(_ text: String, to path: String) throws(EmbeddedBrokerError) {
        try write(Array(text.utf8), to: path)
    }

    /// Writes a file anew, whose mode is as of ``makeDirectory(_:of:readableTo:)``: who reads meanwhile has the former one.
    private static func write(
        _ bytes: [UInt8], to path: String, of owner: BrokerAccount? = nil, readableTo reader: BrokerAccount? = nil
    ) throws(EmbeddedBrokerError) {
        let draft = path + ".new"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw notWritable(path) }
        defer { close(descriptor) }
        let isWritten = write(bytes[...], to: descriptor) && give(descriptor, to: owner, readableTo: reader, 0o600)
        guard isWritten, rename(draft, path) == 0 else {
            defer { unlink(draft) }
            throw notWritable(path)
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var bytes = bytes
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    /// `nil` where it cannot be read; bytes that are not UTF-8 are repaired.
    static func read(_ path: String) -> String? {
        readBytes(path).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func readBytes(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += chunk[..<count]
        }
    }
}
