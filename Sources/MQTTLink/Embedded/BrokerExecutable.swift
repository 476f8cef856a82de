import Glibc

/// Where the mosquitto program is.
enum BrokerExecutable {
    static func find(_ given: String?) throws(EmbeddedBrokerError) -> String {
        if let given {
            guard access(given, X_OK) == 0 else { throw .executableMissing(searched: [given]) }
            return given
        }
        // Debian puts it where PATH of ordinary users does not look.
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
        for folder in folders where access(folder + "/mosquitto", X_OK) == 0 { return folder + "/mosquitto" }
        throw .executableMissing(searched: ["PATH", "/usr/sbin", "/usr/local/sbin"])
    }
}
