import Foundation
import Loopback
import Testing

@testable import MQTTLink

/// A mosquitto of a test: on a free loopback port, in a scratch folder of its own.
final class TestBroker {
    let folder: String
    let port: Int
    private let lines: String
    private var child: ChildProcess?

    init(folder: String, lines: String) {
        self.folder = folder
        self.port = Loopback.freePort()
        self.lines = lines
    }

    var endpoint: MQTTEndpoint { MQTTEndpoint(host: "127.0.0.1", port: port) }

    func start() throws {
        let text = """
            \(geteuid() == 0 ? "user root" : "")
            log_dest none
            persistence true
            persistence_location \(folder)/
            listener \(port) 127.0.0.1
            \(lines.isEmpty ? "allow_anonymous true" : lines)

            """
        try BrokerFiles.write(text, to: folder + "/test.conf")
        let executable = try BrokerExecutable.find(nil)
        child = try ChildProcess(executable: executable, arguments: ["-c", folder + "/test.conf"])
        let place = ListenAddress(host: "127.0.0.1", port: port)
        try #require(eventually { place.accepts })
    }

    /// Ends it and waits until it is gone.
    func end(_ signal: Int32) {
        guard let child else { return }
        kill(child.processID, signal)
        var status: Int32 = 0
        waitpid(child.processID, &status, 0)
        child.closeFiles()
        self.child = nil
    }
}

/// Runs `body` with a scratch folder that is removed afterwards.
func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    let template = try #require(strdup("/tmp/mqttlink-test-XXXXXX"))
    defer { free(template) }
    try #require(mkdtemp(template) != nil)
    let folder = String(cString: template)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
}

/// Runs `body` with a broker whose listener has the given `lines` (default: everybody may do all).
func withBroker<Result>(
    lines: (String) throws -> String = { _ in "" }, _ body: (TestBroker) throws -> Result
) throws -> Result {
    try withFolder { folder in
        let broker = TestBroker(folder: folder, lines: try lines(folder))
        try broker.start()
        defer { broker.end(SIGKILL) }
        return try body(broker)
    }
}

/// Looks each 5 ms, for what nothing announces (a process, a file); false after 20 s.
func eventually(_ holds: () -> Bool) -> Bool {
    let limit = monotonicNow() + 20_000_000_000
    while !holds() {
        if monotonicNow() > limit { return false }
        usleep(5_000)
    }
    return true
}

/// Runs a program to its end; its exit code.
@discardableResult
func runProgram(_ executable: String, _ arguments: [String]) throws -> Int32 {
    let child = try ChildProcess(executable: executable, arguments: arguments)
    var chunk = [UInt8](repeating: 0, count: 4096)
    while read(child.output, &chunk, chunk.count) > 0 {}
    child.closeFiles()
    var status: Int32 = 0
    waitpid(child.processID, &status, 0)
    return status
}

/// A CA, a server certificate for 127.0.0.1 and localhost, and a client certificate, in `folder`.
func makeCertificates(_ folder: String) throws {
    func openssl(_ arguments: String) throws {
        let code = try runProgram("/usr/bin/openssl", arguments.split(separator: " ").map(String.init))
        try #require(code == 0, "openssl \(arguments)")
    }
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for name in ["ca", "other"] {
        try openssl(
            "req -x509 \(key) -days 2 -subj /CN=test-\(name) -keyout \(folder)/\(name).key -out \(folder)/\(name).crt")
    }
    try BrokerFiles.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n", to: folder + "/server.ext")
    try BrokerFiles.write("extendedKeyUsage=clientAuth\n", to: folder + "/client.ext")
    for name in ["server", "client"] {
        try openssl("req \(key) -subj /CN=\(name) -keyout \(folder)/\(name).key -out \(folder)/\(name).csr")
        try openssl(
            "x509 -req -in \(folder)/\(name).csr -CA \(folder)/ca.crt -CAkey \(folder)/ca.key -CAcreateserial -days 2 "
                + "-extfile \(folder)/\(name).ext -out \(folder)/\(name).crt")
    }
}
