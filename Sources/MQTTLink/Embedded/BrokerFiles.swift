import Glibc

/// The folder of the embedded broker: its configuration, access list, memory and private socket.
struct BrokerFiles: Sendable {
    let directory: String
    let socketDirectory: String
    var configurationFile: String { directory + "/mosquitto.conf" }
    var accessFile: String { directory + "/geomatch.acl" }
    var processFile: String { directory + "/mosquitto.pid" }
    var socket: String { socketDirectory + "/mqtt.sock" }
    /// Names the socket's folder where it had to lie elsewhere, so that the next start can remove it.
    private static let elsewhereFile = "/socket-directory"

    /// `sockaddr_un.sun_path` without its NUL.
    static let socketPathMaximum = 107

    /// Makes the folders, all ours alone (0700).
    init(dataDirectory: String) throws(EmbeddedBrokerError) {
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
    }

    func write(_ configuration: EmbeddedBrokerConfiguration) throws(EmbeddedBrokerError) {
        var passwordFile: String?
        if let users = configuration.usersFile {
            let text = try Self.readUsers(users)
            passwordFile = (try? Self.absolute(users)) ?? users
            let names = AccessList.users(ofPasswordFile: text)
            try Self.write(
                AccessList(
                    prefix: configuration.topicsPrefix, users: names, adapterFilters: configuration.adapterFilters
                ).text, to: accessFile)
        }
        try Self.write(configurationText(configuration, passwordFile: passwordFile), to: configurationFile)
        unlink(socket)
    }

    /// Removes what must not stay: the socket, and its folder where it lies elsewhere.
    func removeSocket() {
        unlink(socket)
        if !socketDirectory.hasPrefix(directory) {
            rmdir(socketDirectory)
            unlink(directory + Self.elsewhereFile)
        }
    }

    private func configurationText(_ configuration: EmbeddedBrokerConfiguration, passwordFile: String?) -> String {
        let access =
            passwordFile.map { "allow_anonymous false\npassword_file \($0)\nacl_file \(accessFile)" }
            ?? "allow_anonymous true"
        return """
            # Written by geomatchd at each start: changes are lost.
            per_listener_settings true
            \(geteuid() == 0 ? "user root\n" : "")\
            log_dest stderr
            log_timestamp false
            log_type error
            log_type warning
            log_type notice
            connection_messages false
            set_tcp_nodelay true
            max_queued_messages \(configuration.queuedMessagesMaximum)
            max_queued_bytes 0
            # A request of up to 1 MiB gets an answer; a packet beyond this ends its connection.
            max_packet_size \(2 << 20)
            # Without autosave_on_changes the interval counts seconds.
            persistence true
            persistence_location \(directory)/
            persistence_file mosquitto.db
            autosave_interval \(configuration.autosaveSeconds)
            autosave_on_changes false

            # For everybody.
            listener \(configuration.port) \(configuration.host)
            \(access)

            # For the daemon: whoever can enter the folder is trusted, and only we can.
            listener 0 \(socket)
            allow_anonymous true
            \(configuration.pluginFile.map { "plugin \($0)\n" } ?? "")
            """
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

    private static func readUsers(_ path: String) throws(EmbeddedBrokerError) -> String {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw .usersFileUnreadable(path: path, reason: "it is a directory")
        }
        guard let text = read(path) else {
            throw .usersFileUnreadable(path: path, reason: String(cString: strerror(errno)))
        }
        return text
    }

    static func write(_ text: String, to path: String) throws(EmbeddedBrokerError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw notWritable(path) }
        defer { close(descriptor) }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw notWritable(path) }
            bytes = bytes.dropFirst(count)
        }
    }

    /// `nil` where it cannot be read; bytes that are not UTF-8 are repaired.
    static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return count == 0 ? String(decoding: bytes, as: UTF8.self) : nil }
            bytes += chunk[..<count]
        }
    }
}
