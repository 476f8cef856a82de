import Glibc

/// The folder of the embedded broker: its configuration, access list, memory and private socket.
struct BrokerFiles: Sendable {
    let directory: String
    let socketDirectory: String
    var configurationFile: String { directory + "/mosquitto.conf" }
    /// Names of files beside the configuration, in which mosquitto runs: it need not be able to enter the folders above.
    private static let accessFile = "geomatch.acl"
    private static let usersFile = "users"
    private static let pluginFile = "geomatch-broker-plugin.so"
    private static let certificateFile = "listen-tls.crt"
    private static let keyFile = "listen-tls.key"
    static let memoryFile = "mosquitto.db"
    /// Whom everything here belongs to; nil where it is us.
    let account: BrokerAccount?
    var processFile: String { directory + "/mosquitto.pid" }
    var socket: String { socketDirectory + "/mqtt.sock" }
    /// Names the socket's folder where it had to lie elsewhere, so that the next start can remove it.
    private static let elsewhereFile = "/socket-directory"

    /// `sockaddr_un.sun_path` without its NUL.
    static let socketPathMaximum = 107

    /// Makes the folders, all ours alone (0700).
    init(dataDirectory: String) throws(EmbeddedBrokerError) {
        account = BrokerAccount.current
        try Self.makeDirectories(dataDirectory)
        let root = try Self.absolute(dataDirectory)
        directory = root + "/broker"
        try Self.makePrivateDirectory(directory)
        if access(directory, W_OK) != 0 { throw Self.notWritable(directory) }
        Self.removeElsewhere(recordedIn: directory)
        let near = directory + "/run"
        // mosquitto reads the path of a listener up to the first space.
        if (near + "/mqtt.sock").utf8.count <= Self.socketPathMaximum, !near.utf8.contains(0x20) {
            try Self.makePrivateDirectory(near)
            socketDirectory = near
        } else {
            socketDirectory = try Self.makeElsewhere()
            try Self.write(socketDirectory, to: directory + Self.elsewhereFile)
        }
        for path in [directory, socketDirectory, directory + "/" + Self.memoryFile] { account?.own(path) }
        // What a mosquitto was saving when it was killed, maybe one of another account.
        for name in ["", ".new"] { unlink(directory + "/saving/" + Self.memoryFile + name) }
        rmdir(directory + "/saving")
    }

    /// Writes what mosquitto reads at its start.
    ///
    /// - Parameter users: What ``readUsers(_:)`` read.
    func write(_ configuration: EmbeddedBrokerConfiguration, users: UsersFile?) throws(EmbeddedBrokerError) {
        if let users { try writeUsers(users, configuration) }
        try writeCertificates(configuration)
        try writeOwn(configurationText(configuration), to: configurationFile)
        unlink(socket)
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
        try copy(tls.certificateFile, to: Self.certificateFile)
        try copy(tls.keyFile, to: Self.keyFile)
    }

    /// Writes who may log in and what they may do.
    func writeUsers(_ users: UsersFile, _ configuration: EmbeddedBrokerConfiguration) throws(EmbeddedBrokerError) {
        let list = configuration.accessList(users.names)
        try writeOwn(list.text(for: configuration.pluginFile == nil ? .mosquitto(datasets: []) : .plugin), to: Self.accessFile)
        try writeOwn(users.text, to: Self.usersFile)
    }

    /// Removes what must not stay: the socket, and its folder where it lies elsewhere.
    func removeSocket() {
        unlink(socket)
        if !socketDirectory.hasPrefix(directory) {
            rmdir(socketDirectory)
            unlink(directory + Self.elsewhereFile)
        }
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
            persistence_file \(Self.memoryFile)
            # The daemon asks for it when it fits the size: everything is written each time.
            autosave_interval 0

            """
        let plugin = try configuration.pluginFile.map { file throws(EmbeddedBrokerError) in try reachable(plugin: file) }
        text += listener(port: configuration.port, host: configuration.host, configuration, plugin)
        if let tls = configuration.encryptedListener {
            text += listener(port: tls.port, host: tls.host, configuration, plugin)
            text += "certfile \(Self.certificateFile)\nkeyfile \(Self.keyFile)\n"
        }
        let place = socketDirectory.hasPrefix(directory) ? "run/mqtt.sock" : socket
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
            if hasUsers { lines += ["plugin_opt_users \(Self.usersFile)", "plugin_opt_access \(Self.accessFile)"] }
        } else if hasUsers {
            lines += ["password_file \(Self.usersFile)", "acl_file \(Self.accessFile)"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A path at which mosquitto can load the plugin: a copy beside the configuration where it runs as another user.
    func pathOfPlugin(_ plugin: String) -> String { account == nil ? plugin : "./" + Self.pluginFile }

    private func reachable(plugin: String) throws(EmbeddedBrokerError) -> String {
        if account != nil { try copy(plugin, to: Self.pluginFile) }
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

    private static func makePrivateDirectory(_ path: String) throws(EmbeddedBrokerError) {
        if mkdir(path, 0o700) != 0 && errno != EEXIST { throw notWritable(path) }
        if chmod(path, 0o700) != 0 { throw notWritable(path) }
    }

    private static func makeElsewhere() throws(EmbeddedBrokerError) -> String {
        for parent in [getenv("TMPDIR").map { String(cString: $0) }, "/tmp"].compactMap({ $0 }) {
            guard parent.utf8.count <= 80, !parent.utf8.contains(0x20), let template = strdup(parent + "/geomatch-XXXXXX") else {
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
        unlink(path + "/mqtt.sock")
        rmdir(path)
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

    private func copy(_ path: String, to name: String) throws(EmbeddedBrokerError) {
        guard let bytes = Self.readBytes(path) else {
            throw .fileUnreadable(path: path, reason: String(cString: strerror(errno)))
        }
        try Self.write(bytes, to: directory + "/" + name)
        account?.own(directory + "/" + name)
    }

    private func writeOwn(_ text: String, to name: String) throws(EmbeddedBrokerError) {
        let path = name.hasPrefix("/") ? name : directory + "/" + name
        try Self.write(text, to: path)
        account?.own(path)
    }

    static func write(_ text: String, to path: String) throws(EmbeddedBrokerError) {
        try write(Array(text.utf8), to: path)
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(EmbeddedBrokerError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw notWritable(path) }
        defer { close(descriptor) }
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw notWritable(path) }
            bytes = bytes.dropFirst(count)
        }
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
