import Foundation
import Loopback
import Synchronization
import Testing

@testable import MQTTLink

/// What one client of the embedded broker can do to others, and to the daemon.
@Suite("Walls of the embedded broker", .serialized, .timeLimit(.minutes(3)))
struct BrokerWallsTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        func contain(_ text: String) -> Bool { lines.withLock { $0.contains { $0.contains(text) } } }
        func count(_ text: String) -> Int { lines.withLock { $0.count { $0.contains(text) } } }
    }

    /// - Parameter users: Each with its name as password; none for a broker that trusts everybody.
    private func withUsers(
        _ users: [String] = ["ann", "eve"], change: (inout EmbeddedBrokerConfiguration) -> Void = { _ in },
        _ body: (EmbeddedBroker, (String?) -> MQTTEndpoint, Lines, String) throws -> Void
    ) throws {
        try withFolder { folder in
            let lines = Lines()
            for name in users { try setPassword(name, of: name, in: folder) }
            let usersFile = users.isEmpty ? nil : folder + "/users"
            try withEmbedded(in: folder, users: usersFile, log: lines.add, change: change) { broker, configuration in
                let port = configuration.port
                try body(broker, { MQTTEndpoint(host: "127.0.0.1", port: port, username: $0, password: $0) }, lines, folder)
            }
        }
    }

    private func setPassword(_ password: String, of user: String, in folder: String) throws {
        let file = folder + "/users"
        let create = access(file, F_OK) == 0 ? [] : ["-c"]
        try #require(try runProgram("/usr/bin/mosquitto_passwd", ["-b"] + create + [file, user, password]) == 0)
    }

    private func residentMegabytes(_ process: Int32?) -> Int {
        let text = process.flatMap { BrokerFiles.read("/proc/\($0)/statm") } ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096 >> 20
    }

    @Test("Client ids of the daemon's form are refused to everybody but the daemon", arguments: [["eve"], []])
    func daemonsName(users: [String]) throws {
        try withUsers(users) { broker, login, _, _ in
            try withLink(broker.endpoint, id: "geomatchd-secret", change: { $0.persistentSession = true }) { daemon in
                #expect(daemon.waitConnected())
                for id in ["geomatchd-secret", "geomatchd-other"] {
                    for version in [4, 5] {
                        try withLink(login(users.first), id: id, version: version) { link in
                            #expect(link.wait { events, _ in events.contains(where: \.isDisconnected) })
                            #expect(!link.wasConnected)
                        }
                    }
                }
                try withLink(login(users.first), id: "eve") { #expect($0.waitConnected()) }
                #expect(!daemon.wasDisconnected)
            }
        }
    }

    @Test("A session that is away holds 64 MiB, whatever is published to it")
    func parkedSession() throws {
        try withUsers { broker, login, _, _ in
            let filters: [(filter: String, qos: Int32)] = [("geomatch/+/eve/request/#", 1)]
            try withLink(login("eve"), id: "parked", filters: filters, change: { $0.persistentSession = true }) { link in
                #expect(link.waitSubscribed())
            }
            let before = residentMegabytes(broker.processID)
            let payload = String(repeating: "x", count: 2_000_000)
            try withLink(login("eve")) { link in
                #expect(link.waitConnected())
                for _ in 0..<99 { link.publish("geomatch/d/eve/request/x/y", payload) }
                #expect(link.publishAndWait("geomatch/d/eve/request/x/y", payload) == 0)
            }
            #expect(residentMegabytes(broker.processID) - before < 90)
            try withLink(login("eve"), id: "parked", filters: filters, change: { $0.persistentSession = true }) { link in
                #expect(link.waitSubscribed())
                #expect(link.publishAndWait("geomatch/d/eve/request/end", "end") == 0)
                #expect(link.wait { _, messages in messages.last?.payload == "end" })
                // And the one that crossed the bound.
                #expect((30...35).contains(link.received.count))
            }
        }
    }

    @Test("What floods the daemon is refused for a second, and nothing else is", .timeLimit(.minutes(1)))
    func flood() throws {
        try withUsers { broker, login, _, _ in
            try withLink(broker.endpoint, id: "geomatchd-secret", change: { $0.brokerTakesBatches = true }) { daemon in
                try withLink(login("eve")) { eve in
                    try withLink(login("ann")) { ann in
                        #expect(daemon.waitConnected() && eve.waitConnected() && ann.waitConnected())
                        #expect(eve.publishAndWait("geomatch/d/eve/request/device/get", "{}") == 0)
                        daemon.order { $0.refusePublications(below: "geomatch/d/eve/request/") }
                        // MQTT 5: not authorised.
                        while eve.publishAndWait("geomatch/d/eve/request/device/get", "{}") == 0 {}
                        #expect(eve.publishAndWait("d/-/-/-/-/eve/position", "{}") == 0)
                        #expect(ann.publishAndWait("geomatch/d/ann/request/device/get", "{}") == 0)
                        while eve.publishAndWait("geomatch/d/eve/request/device/get", "{}") != 0 {}
                    }
                }
            }
        }
    }

    @Test("What goes on flooding is refused again after a hundred messages, without the daemon", .timeLimit(.minutes(1)))
    func floodAgain() throws {
        try withUsers { broker, login, _, _ in
            let filters: [(filter: String, qos: Int32)] = [("geomatch/+/eve/request/#", 1)]
            try withLink(
                broker.endpoint, id: "geomatchd-secret", filters: filters, change: { $0.brokerTakesBatches = true }
            ) { daemon in
                try withLink(login("eve")) { eve in
                    #expect(daemon.waitSubscribed() && eve.waitConnected())
                    let topic = "geomatch/d/eve/request/device/get"
                    daemon.order { $0.refusePublications(below: "geomatch/d/eve/request/") }
                    while eve.publishAndWait(topic, "{}") == 0 {}
                    // Refused, watched, refused: in the second that the first one that passes begins.
                    for round in 0..<2 {
                        while eve.publishAndWait(topic, "first") != 0 {}
                        for _ in 0..<300 { eve.publish(topic, "\(round)", qos: 0) }
                        // The broker took them before.
                        #expect(eve.publishAndWait("d/-/-/-/-/eve/position", "{}") == 0)
                        #expect(daemon.publishAndWait("geomatch/d/eve/request/end", "end \(round)") == 0)
                        #expect(daemon.wait { _, messages in messages.last?.payload == "end \(round)" })
                        #expect(daemon.received.count { $0.payload == "\(round)" } == 99)
                    }
                }
            }
        }
    }

    @Test("One that parks and retains without end gets a share of the memory, and others still get theirs")
    func memory() throws {
        try withUsers(change: { $0.memoryBytesMaximum = 64 << 20 }) { broker, login, lines, _ in
            let payload = String(repeating: "x", count: 60_000)
            var refused = 0
            try withLink(login("eve")) { link in
                #expect(link.waitConnected())
                for number in 0..<2000 where link.publishAndWait("d/-/-/-/-/\(number)/position", payload, retain: true) != 0 {
                    refused += 1
                }
                #expect(refused > 1000)
                // What is not kept passes.
                link.publish("d/-/-/-/-/x/position", payload, qos: 0)
                try withLink(login("ann")) { ann in
                    #expect(ann.waitConnected())
                    #expect(ann.publishAndWait("d/-/-/-/-/ann/position", "{}", retain: true) == 0)
                    #expect(ann.publishAndWait("geomatch/d/ann/request/device/get", payload) == 0)
                }
                #expect(residentMegabytes(broker.processID) < 90)
                #expect(lines.contain("half of the memory"))
                // Clearing makes room.
                for number in 0..<2000 { link.publish("d/-/-/-/-/\(number)/position", "", retain: true) }
                #expect(link.publishAndWait("geomatch/d/eve/request/device/get", "{}") != nil)
                for _ in 0..<40 { link.publish("geomatch/d/eve/request/device/get", payload) }
                #expect(link.publishAndWait("d/-/-/-/-/again/position", payload, retain: true) == 0)
            }
            try withLink(broker.endpoint, change: { $0.brokerTakesBatches = true }) { daemon in
                #expect(daemon.waitConnected() && daemon.publishAndWait("live/d/-/-/-/-/x/position", payload, retain: true) == 0)
            }
        }
    }

    @Test("Connections that do not log in are ended after their time, and keep nobody out meanwhile")
    func silentConnections() throws {
        try withUsers(change: {
            $0.loginSeconds = 3
            $0.connectionsMaximum = 500
        }) { broker, login, _, _ in
            try withLink(login("ann")) { before in
                #expect(before.waitConnected())
                let silent = (0..<400).map { _ in RawConnection(port: login(nil).port) }
                defer { silent.forEach { $0.close() } }
                // Some say half a word.
                for connection in silent.prefix(50) { connection.send([0x10, 0x30, 0]) }
                try withLink(login("eve")) { link in
                    #expect(link.waitConnected())
                    #expect(eventually { silent.allSatisfy(\.hasEnded) })
                    #expect(!link.wasDisconnected && !before.wasDisconnected)
                }
            }
        }
    }

    @Test("Beyond its maximum of connections the broker takes no more, and again when some have gone")
    func connectionsMaximum() throws {
        try withUsers(change: { $0.connectionsMaximum = 20 }) { _, login, _, _ in
            let taken = (0..<20).map { _ in RawConnection(port: login(nil).port) }
            let ended = taken.count { $0.hasEnded }
            #expect(ended == 0)
            let more = RawConnection(port: login(nil).port)
            #expect(eventually { more.hasEnded })
            taken.forEach { $0.close() }
            more.close()
            try withLink(login("ann")) { #expect($0.waitConnected()) }
        }
    }

    // MARK: Users

    @Test("Who is added may log in, whose line goes or whose password changes is logged out, others stay")
    func usersChange() throws {
        try withUsers(["ann", "bob", "eve"]) { _, login, lines, folder in
            try withLink(login("ann"), filters: [("geomatch/d/ann/#", 1)]) { ann in
                try withLink(login("bob")) { bob in
                    try withLink(login("eve")) { eve in
                        #expect(ann.waitSubscribed() && bob.waitConnected() && eve.waitConnected())
                        try runProgram("/usr/bin/mosquitto_passwd", ["-D", folder + "/users", "bob"])
                        try setPassword("new", of: "eve", in: folder)
                        try setPassword("carol", of: "carol", in: folder)
                        for link in [bob, eve] {
                            #expect(link.wait(seconds: 2) { events, _ in events.contains(where: \.isDisconnected) })
                            let refused: (LinkRecorder.Event) -> Bool = {
                                if case .disconnected(.refused) = $0 { true } else { false }
                            }
                            #expect(link.wait { events, _ in events.contains(where: refused) })
                        }
                        try withLink(login("carol")) { #expect($0.waitConnected()) }
                        var endpoint = login("eve")
                        endpoint.password = "new"
                        try withLink(endpoint) { #expect($0.waitConnected()) }
                        // Whose line did not change notices nothing.
                        #expect(ann.publishAndWait("geomatch/d/ann/request/x/y", "{}") == 0)
                        #expect(!ann.wasDisconnected)
                        #expect(lines.contain("users: "))
                    }
                }
            }
        }
    }

    @Test(
        "A users file that turns wrong, or goes, changes nothing and is logged", arguments: ["ann/match:$7$101$eA==$eA==\n", nil])
    func usersTurnWrong(_ text: String?) throws {
        try withUsers(["ann"]) { _, login, lines, folder in
            try withLink(login("ann")) { ann in
                #expect(ann.waitConnected())
                if let text { try BrokerFiles.write(text, to: folder + "/users") } else { unlink(folder + "/users") }
                #expect(eventually { lines.contain("Warning: the users stay as they were") })
                #expect(lines.contain(text == nil ? "No such file" : "line 1: `ann/match`"))
                try withLink(login("ann")) { #expect($0.waitConnected()) }
                #expect(!ann.wasDisconnected)
            }
        }
    }

    @Test("Without the plugin mosquitto reads a changed users file as it runs: only whose password changed is cut off")
    func usersWithoutPlugin() throws {
        try withUsers(["ann", "eve"], change: { $0.pluginFile = nil }) { broker, login, _, folder in
            try withLink(login("ann")) { ann in
                try withLink(login("eve")) { eve in
                    #expect(ann.waitConnected() && eve.waitConnected())
                    let process = broker.processID
                    try setPassword("other", of: "eve", in: folder)
                    #expect(eventually { eve.wasDisconnected })
                    try setPassword("bob", of: "bob", in: folder)
                    try withLink(login("bob")) { #expect($0.wait { events, _ in events.contains(where: \.isConnected) }) }
                    #expect(broker.processID == process && !ann.wasDisconnected)
                }
            }
        }
    }

    @Test("Whose login and whose message was refused stands in the log, some lines a second")
    func refusalsLogged() throws {
        try withUsers { _, login, lines, _ in
            try withLink(login("eve")) { eve in
                #expect(eve.waitConnected())
                for number in 0..<200 { eve.publish("geomatch/d/ann/request/device/get/\(number)", "{}") }
                #expect(eve.publishAndWait("geomatch/d/eve/request/device/get", "{}") != nil)
                let refused = "refused: a message by the user eve on geomatch/d/ann/request/device/get/0"
                #expect(eventually { lines.contain(refused) })
                #expect((1...100).contains(lines.count("refused: ")))
            }
            var wrong = login("ann")
            wrong.password = "nonsense"
            try withLink(wrong) { _ in #expect(eventually { lines.contain("refused: a login by the user ann") }) }
        }
    }

    // MARK: Its process

    @Test("The more there is to save, the less often it is saved")
    func savingFitsTheSize() throws {
        try withUsers([], change: { $0.savedBytesPerSecond = 500_000 }) { _, login, _, folder in
            let file = folder + "/data/embedded-broker/memory/mosquitto.db"
            func modified() -> Int {
                var status = stat()
                stat(file, &status)
                return status.st_size < 2_000_000 ? 0 : status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1_000_000
            }
            try withLink(login(nil)) { link in
                #expect(link.waitConnected())
                for number in 0..<200 {
                    link.publish("d/-/-/-/-/\(number)/x", String(repeating: "x", count: 10_000), retain: true)
                }
                #expect(link.publishAndWait("d/end", "end") == 0)
            }
            #expect(eventually { modified() > 0 })
            let first = modified()
            #expect(eventually { modified() > first })
            #expect(modified() - first > 3500)
        }
    }

    @Test("mosquitto does not stop to save: another process writes the file, and what it wrote outlives a kill")
    func savingBesideIt() throws {
        try withUsers([]) { broker, login, _, folder in
            let data = folder + "/data/embedded-broker/memory/"
            let process = try #require(broker.processID)
            // The thread's: what a child wrote counts as its process's, too.
            func written() throws -> Int {
                let text = try #require(BrokerFiles.read("/proc/\(process)/task/\(process)/io"))
                let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("wchar: ") })
                return try #require(Int(line.dropFirst(7)))
            }
            try withLink(login(nil)) { link in
                #expect(link.waitConnected())
                let before = try written()
                for number in 0..<100 {
                    link.publish("d/-/-/-/-/\(number)/x", String(repeating: "x", count: 10_000), retain: true)
                }
                #expect(link.publishAndWait("d/last", "last", retain: true) == 0)
                #expect(
                    eventually {
                        // While nobody speaks mosquitto has time to stop.
                        link.publish("d/tick", "")
                        return BrokerFiles.read(data + "mosquitto.db")?.contains("d/last") == true
                    })
                let count = try written() - before
                #expect(count < 100_000)
            }
            #expect(eventually { BrokerFiles.read(data + "saving/mosquitto.db") == nil })
            kill(process, SIGKILL)
            #expect(eventually { broker.processID.map { $0 != process } ?? false })
            try withLink(login(nil)) { link in
                #expect(link.waitConnected())
                link.order { _ = $0.subscribe([("d/last", 1)]) }
                #expect(link.wait { _, messages in messages.contains { $0.payload == "last" } })
            }
        }
    }

    @Test("mosquitto ends when the process that started it is gone, after it has saved")
    func orphan() throws {
        try withFolder { folder in
            var configuration = EmbeddedBrokerConfiguration(
                dataDirectory: folder + "/data", port: Loopback.freePort(), log: { _ in })
            let plugin: String = try #require(BrokerPlugin.find())
            configuration.pluginFile = plugin
            let files = try BrokerFiles(dataDirectory: configuration.dataDirectory)
            try files.write(configuration, users: nil)
            let child = try ChildProcess(
                executable: try BrokerExecutable.find(nil), arguments: ["-c", files.configurationFile],
                folder: files.memoryDirectory)
            #expect(eventually { configuration.addresses.allSatisfy(\.accepts) })
            try withLink(MQTTEndpoint(host: "127.0.0.1", port: configuration.port)) { link in
                #expect(link.waitConnected())
                #expect(link.publishAndWait("kept", "x", retain: true) == 0)
            }
            // What the end of a process does to its files, whatever ends it.
            child.closeFiles()
            var status: Int32 = 0
            #expect(waitpid(child.processID, &status, 0) == child.processID)
            #expect(ChildProcess.text(ofStatus: status) == "exit code 0")
            #expect(BrokerFiles.read(files.memoryFile)?.contains("kept") == true)
        }
    }

    @Test("Where the daemon is root, mosquitto is not", .enabled(if: BrokerAccount.current != nil))
    func dropsRoot() throws {
        try withUsers { broker, _, _, folder in
            let process = try #require(broker.processID)
            let status = try #require(BrokerFiles.read("/proc/\(process)/status"))
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("Uid:") })
            #expect(!line.split(whereSeparator: \.isWhitespace).dropFirst().contains("0"))
            try withLink(broker.endpoint) { #expect($0.waitConnected()) }
        }
    }

    @Test(
        "Who has taken over mosquitto cannot write what it reads or loads as root, and leads no start to files elsewhere",
        .enabled(if: BrokerAccount.current != nil))
    func takenOver() throws {
        let account = try #require(BrokerAccount.current)
        try withFolder { folder in
            var configuration = EmbeddedBrokerConfiguration(
                dataDirectory: folder + "/data", port: Loopback.freePort(), log: { _ in })
            let plugin: String = try #require(BrokerPlugin.find())
            configuration.pluginFile = plugin
            try setPassword("ann", of: "ann", in: folder)
            configuration.usersFile = folder + "/users"
            let directory = folder + "/data/embedded-broker"
            func status(_ path: String) throws -> stat {
                var status = stat()
                try #require(lstat(path, &status) == 0, "\(path)")
                return status
            }
            func start() throws {
                let broker = EmbeddedBroker(configuration)
                try broker.start(timeoutSeconds: 10)
                defer { broker.stop() }
                #expect(try status(directory).st_uid == 0 && status(directory).st_mode & 0o777 == 0o750)
                let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
                let own = ["geomatch.acl", "memory", "run", "users"]
                let ours = ["geomatch-broker-plugin.so", "mosquitto.conf", "mosquitto.pid"]
                #expect(names == (own + ours).sorted())
                for name in own {
                    let status = try status(directory + "/" + name)
                    #expect(status.st_uid == account.user && status.st_mode & 0o077 == 0, "\(name)")
                }
                for name in ours {
                    let status = try status(directory + "/" + name)
                    #expect(status.st_uid == 0 && status.st_mode & 0o027 == 0, "\(name)")
                }
            }
            let elsewhere = folder + "/elsewhere"
            mkdir(elsewhere, 0o755)
            let victims = ["mosquitto.conf", "mosquitto.db", "geomatch-broker-plugin.so", "users", "mqtt.sock"]
            for name in victims { try BrokerFiles.write("untouched", to: elsewhere + "/" + name) }
            // As who had taken over the mosquitto of a former release left its folder.
            let former = folder + "/data/broker"
            mkdir(folder + "/data", 0o755)
            mkdir(former, 0o700)
            for name in victims { symlink(elsewhere + "/" + name, former + "/" + name) }
            for name in ["saving", "run", "memory"] { symlink(elsewhere, former + "/" + name) }
            try BrokerFiles.write(elsewhere, to: former + "/socket-directory")
            chown(former, account.user, account.group)
            try start()
            // As who took over this one.
            let memory = directory + "/memory"
            unlink(memory + "/mosquitto.db")
            symlink(elsewhere + "/mosquitto.db", memory + "/mosquitto.db")
            symlink(elsewhere, memory + "/saving")
            try start()
            for name in victims {
                #expect(BrokerFiles.read(elsewhere + "/" + name) == "untouched")
                #expect(try status(elsewhere + "/" + name).st_uid == 0)
            }
            #expect(try status(elsewhere).st_uid == 0)
            // One that it has may be full of what would be loaded as root.
            chown(directory, account.user, account.group)
            #expect {
                try start()
            } throws: {
                "\($0)".contains("it belongs to mosquitto")
            }
        }
    }

    @Test("What is preloaded, and libraries' folders, are not looked for where mosquitto runs")
    func environment() {
        let kept = [
            "PATH=.:/bin": "PATH=.:/bin", "LD_PRELOAD=libx.so /a/y.so:../z.so": "LD_PRELOAD=libx.so:/a/y.so",
            "LD_LIBRARY_PATH=:/a b:c;/d:": "LD_LIBRARY_PATH=/a b:/d",
        ]
        for (variable, expected) in kept { #expect(ChildProcess.withoutRelativePaths(variable) == expected) }
        for variable in ["LD_LIBRARY_PATH=", "LD_LIBRARY_PATH=.:", "LD_PRELOAD=./x.so", "LD_AUDIT=a/b"] {
            #expect(ChildProcess.withoutRelativePaths(variable) == nil)
        }
    }

    @Test("The memory of a mosquitto of release 0.1.0 is taken over, also where that ran again after an upgrade")
    func formerMemory() throws {
        try withUsers([]) { broker, login, _, folder in
            func retain(_ payload: String) throws {
                try withLink(login(nil)) { link in
                    #expect(link.waitConnected())
                    #expect(link.publishAndWait("kept", payload, retain: true) == 0)
                }
            }
            try retain("former")
            broker.stop()
            let files = try #require(broker.files.withLock { $0 })
            mkdir(folder + "/data/broker", 0o700)
            for _ in 0..<2 {
                #expect(rename(files.memoryFile, folder + "/data/broker/mosquitto.db") == 0)
                try BrokerFiles.write("of a release that ran before the former one ran again", to: files.memoryFile)
                let next = EmbeddedBroker(broker.configuration)
                try next.start(timeoutSeconds: 10)
                defer { next.stop() }
                try withLink(login(nil), filters: [("kept", 0)]) { link in
                    #expect(link.wait { _, messages in messages.map(\.payload) == ["former"] })
                }
            }
        }
    }
}
