import Foundation
import Loopback
import Testing

@testable import MQTTLink

@Suite("EmbeddedBroker", .serialized, .timeLimit(.minutes(5)))
struct EmbeddedBrokerTests {
    private func configuration(
        _ folder: String, users: String? = nil, change: (inout EmbeddedBrokerConfiguration) -> Void = { _ in }
    ) -> EmbeddedBrokerConfiguration {
        var configuration = EmbeddedBrokerConfiguration(
            dataDirectory: folder + "/data", port: Loopback.freePort(), usersFile: users, log: { _ in })
        change(&configuration)
        return configuration
    }

    private func tcp(_ configuration: EmbeddedBrokerConfiguration, user: String? = nil) -> MQTTEndpoint {
        MQTTEndpoint(host: "127.0.0.1", port: configuration.port, username: user, password: user)
    }

    private func startError(_ configuration: EmbeddedBrokerConfiguration) -> EmbeddedBrokerError? {
        let broker = EmbeddedBroker(configuration)
        defer { broker.stop() }
        do throws(EmbeddedBrokerError) { try broker.start(timeoutSeconds: 20) } catch { return error }
        return nil
    }

    @Test("Both listeners accept after the start, nothing is left after the stop")
    func lifecycle() throws {
        try withFolder { folder in
            let configuration = configuration(folder)
            var process: Int32?
            try withEmbedded(configuration) { broker in
                process = broker.processID
                try withLink(broker.endpoint, filters: [("x", 1)]) { inside in
                    #expect(inside.waitSubscribed())
                    try withLink(tcp(configuration)) { outside in
                        #expect(outside.waitConnected())
                        #expect(outside.publishAndWait("x", "1") == 0)
                        #expect(inside.wait { _, messages in messages.contains { $0.payload == "1" } })
                    }
                }
                var status = stat()
                #expect(stat(folder + "/data/embedded-broker/run", &status) == 0)
                #expect(status.st_mode & 0o777 == 0o700)
            }
            #expect(process.map { kill($0, 0) } == -1)
            #expect(access(folder + "/data/embedded-broker/run/mqtt.sock", F_OK) != 0)
        }
    }

    @Test("A broker killed with -9 is started again, keeps its session and retained messages, and the link returns")
    func restarted() throws {
        try withFolder { folder in
            let configuration = configuration(folder)
            try withEmbedded(configuration) { broker in
                let persistent: (inout MQTTLinkConfiguration) -> Void = { $0.persistentSession = true }
                try withLink(broker.endpoint, id: "daemon", filters: [("r/#", 1)], change: persistent) { link in
                    #expect(link.waitSubscribed())
                    #expect(link.publishAndWait("kept/1", "state", retain: true) == 0)
                    let memory = folder + "/data/embedded-broker/memory/mosquitto.db"
                    // Written with what was published just now: a second time after it is there.
                    #expect(eventually { access(memory, F_OK) == 0 })
                    let first = modified(memory)
                    #expect(eventually { modified(memory) != first })
                    let process = try #require(broker.processID)
                    kill(process, SIGKILL)
                    #expect(link.wait { events, _ in events.count(where: \.isConnected) == 2 })
                    #expect(link.lastConnected == .connected(sessionPresent: true, version: 5))
                    #expect(broker.processID != process)
                }
                try withLink(tcp(configuration), filters: [("kept/#", 1)]) { link in
                    #expect(link.wait { _, messages in messages.map(\.payload) == ["state"] })
                    #expect(link.received.first?.retain == true)
                    // For the daemon that is away now.
                    #expect(link.publishAndWait("r/1", "request") == 0)
                }
            }
            try withEmbedded(configuration) { broker in
                try withLink(broker.endpoint, id: "daemon", change: { $0.persistentSession = true }) { link in
                    #expect(link.wait(for: .connected(sessionPresent: true, version: 5)))
                    #expect(link.wait { _, messages in messages.map(\.payload) == ["request"] })
                }
                try withLink(tcp(configuration), filters: [("kept/#", 1)]) { link in
                    #expect(link.wait { _, messages in messages.map(\.payload) == ["state"] })
                }
            }
        }
    }

    private func modified(_ path: String) -> Int {
        var status = stat()
        stat(path, &status)
        return status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
    }

    @Test("A mosquitto that a killed daemon left behind is ended, after it has saved, and its port taken over")
    func leftBehind() throws {
        try withFolder { folder in
            let configuration = configuration(folder)
            try withEmbedded(configuration) { _ in }
            let file = folder + "/data/embedded-broker/mosquitto.conf"
            let orphan = try ChildProcess(
                executable: try BrokerExecutable.find(nil), arguments: ["-c", file],
                folder: folder + "/data/embedded-broker/memory")
            #expect(eventually { configuration.addresses.allSatisfy(\.accepts) })
            try withLink(tcp(configuration)) { link in
                #expect(link.waitConnected())
                #expect(link.publishAndWait("kept/2", "before the end", retain: true) == 0)
            }
            try withEmbedded(configuration) { broker in
                #expect(broker.processID != orphan.processID)
                var status: Int32 = 0
                #expect(waitpid(orphan.processID, &status, 0) == orphan.processID)
                #expect(ChildProcess.text(ofStatus: status) == "exit code 0")
                try withLink(broker.endpoint, filters: [("kept/#", 0)]) { link in
                    #expect(link.wait { _, messages in messages.map(\.payload) == ["before the end"] })
                }
            }
            orphan.closeFiles()
        }
    }

    @Test("A number in the process file that belongs to another program is left alone")
    func strangersNumber() throws {
        try withFolder { folder in
            let configuration = configuration(folder)
            try withEmbedded(configuration) { _ in }
            let stranger = try ChildProcess(executable: "/bin/sleep", arguments: ["60"])
            defer {
                kill(stranger.processID, SIGKILL)
                waitpid(stranger.processID, nil, 0)
                stranger.closeFiles()
            }
            try BrokerFiles.write("\(stranger.processID)\n", to: folder + "/data/embedded-broker/mosquitto.pid")
            try withEmbedded(configuration) { _ in #expect(kill(stranger.processID, 0) == 0) }
        }
    }

    @Test(
        "A folder too deep for a socket path, or with a space, gets its socket elsewhere, private and removed at the end",
        arguments: [String(repeating: "d", count: 120), "with a space"])
    func deepFolder(name: String) throws {
        try withFolder { folder in
            let deep = folder + "/" + name
            var place = ""
            try withEmbedded(configuration(deep)) { broker in
                place = try #require(broker.endpoint.unixPath)
                #expect(place.utf8.count <= BrokerFiles.socketPathMaximum)
                try withLink(broker.endpoint) { #expect($0.waitConnected()) }
            }
            #expect(access(place, F_OK) != 0)
            #expect(access((place as NSString).deletingLastPathComponent, F_OK) != 0)
        }
    }

    @Test("A taken port is reported with who has it")
    func portTaken() throws {
        try withBroker { other in
            try withFolder { folder in
                let error = startError(configuration(folder) { $0.port = other.port })
                guard case .portTaken(let address, let holder)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(address == "127.0.0.1:\(other.port)")
                #expect(holder?.hasPrefix("mosquitto (process ") == true)
                #expect(error?.description.contains("--listen") == true)
            }
        }
    }

    @Test("What prevents a start is reported with the way out")
    func startErrors() throws {
        try withFolder { folder in
            let missing = startError(configuration(folder) { $0.executable = "/no/mosquitto" })
            #expect(missing == .executableMissing(searched: ["/no/mosquitto"]))
            #expect(missing?.description.contains("apt install mosquitto") == true)

            let users = startError(configuration(folder, users: folder + "/none"))
            #expect(users == .usersFileUnreadable(path: folder + "/none", reason: "No such file or directory"))

            try BrokerFiles.write("", to: folder + "/file")
            let data = startError(configuration(folder) { $0.dataDirectory = folder + "/file/data" })
            guard case .directoryNotWritable? = data else {
                Issue.record("\(String(describing: data))")
                return
            }
            let address = startError(configuration(folder) { $0.host = "192.0.2.1" })
            guard case .addressNotAvailable? = address else {
                Issue.record("\(String(describing: address))")
                return
            }
        }
    }

    @Test("A program that ends at once is reported with its last lines")
    func endsAtOnce() throws {
        try withFolder { folder in
            let program = folder + "/mosquitto"
            try BrokerFiles.write("#!/bin/sh\necho starting\necho cannot do it >&2\nexit 3\n", to: program)
            chmod(program, 0o700)
            let error = startError(configuration(folder) { $0.executable = program })
            #expect(error == .exitedAtOnce(status: "exit code 3", lines: ["starting", "cannot do it"]))
        }
    }
}
