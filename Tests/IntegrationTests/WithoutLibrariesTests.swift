import Foundation
import Testing

extension Integration {
    @Suite(
        "The library without system libraries",
        .enabled(
            if: ProcessInfo.processInfo.environment["GEOMATCH_TEST_ALL"] != nil, "it takes minutes; deploy/test --all has it"))
    struct WithoutLibraries {
        private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path

        private func run(_ program: String, _ arguments: [String]) throws -> [String] {
            let program = try Program(program, arguments)
            try #require(program.waitForExit(seconds: 900) == 0, "\(program.lines.suffix(40).joined(separator: "\n"))")
            return program.lines
        }

        private func write(_ text: String, to file: String) throws {
            let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        }

        @Test("A package that switches the trait off links neither libmosquitto nor simdjson, and speaks to a daemon's socket")
        func socket() throws {
            try withFolder { folder in
                try write(
                    """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "consumer", platforms: [.macOS(.v15)],
                        dependencies: [.package(name: "geomatch", path: "\(Self.root)", traits: [])],
                        targets: [
                            .executableTarget(
                                name: "consumer", dependencies: [.product(name: "GeomatchClient", package: "geomatch")])
                        ])
                    """, to: folder + "/consumer/Package.swift")
                try write(Self.program, to: folder + "/consumer/Sources/consumer/Consumer.swift")
                _ = try run("/usr/bin/env", ["swift", "build", "--package-path", folder + "/consumer"])
                let consumer = folder + "/consumer/.build/debug/consumer"
                let needed = try run("/usr/bin/env", ["readelf", "--dynamic", consumer]).filter { $0.contains("NEEDED") }
                #expect(!needed.isEmpty)
                for library in ["mosquitto", "simdjson"] { #expect(!needed.contains { $0.contains(library) }, "\(needed)") }
                let daemon = try Daemon(folder: folder, arguments: ["--http", "127.0.0.1:0", "--datasets", "demo"])
                defer { daemon.end() }
                try daemon.waitOnline()
                try #require(daemon.program.waitForLine("http listen="), "\(daemon.log)")
                let port = try #require(daemon.log.firstMatch(of: /http listen=127\.0\.0\.1:(\d+)/), "\(daemon.log)").1
                #expect(try run(consumer, [String(port)]) == ["unsupported", "ann", "notFound", "phone", "invalid", "matched"])
            }
        }

        /// Asks, publishes, hears live data and a match, and is refused.
        private static let program = """
            import GeomatchClient

            @main
            struct Consumer {
                static func main() async throws {
                    do {
                        let client = try GeomatchClient(broker: "mqtt://127.0.0.1:1", dataset: "demo", client: "ann")
                        try await client.request("dataset/get")
                    } catch let error as GeomatchError {
                        print(error.kind.rawValue)
                    }
                    let client = try GeomatchClient(
                        broker: "http://127.0.0.1:\\(CommandLine.arguments[1])", dataset: "demo", client: "ann")
                    let made = try await client.request("device/create", parameters: ["deviceType": "MobileDevice", "id": "phone"])
                    if case .string(let owner)? = made["owner"] { print(owner) }
                    do {
                        try await client.request("device/get", parameters: ["id": "nobody"])
                    } catch {
                        print(error.kind.rawValue)
                    }
                    let live = LiveDataManager(client)
                    let events = live.events
                    try await live.subscribe(to: LiveCriteria())
                    let topic = LiveUpdateTopic(dataset: "demo", location: "phone", domain: .position)
                    try await client.publish(["latitude": 43.73, "longitude": 7.42], on: topic)
                    for await event in events {
                        guard case .received(let update) = event else { continue }
                        print(update.topic.location ?? "")
                        break
                    }
                    do {
                        try await client.publish(["latitude": 143.73, "longitude": 7.42], on: topic)
                    } catch {
                        print(error.kind.rawValue)
                    }
                    let monitor = MatchMonitor(client)
                    let matches = monitor.matches
                    try await monitor.start("phone")
                    try await client.request(
                        "subscription/create",
                        parameters: ["id": "s", "deviceId": "phone", "topic": "coffee", "range": 50, "duration": 60])
                    try await client.request(
                        "device/create",
                        parameters: ["deviceType": "PinDevice", "id": "pin", "location": ["latitude": 43.73, "longitude": 7.42]])
                    try await client.request(
                        "publication/create", parameters: ["deviceId": "pin", "topic": "coffee", "range": 50, "duration": 60])
                    for try await _ in matches {
                        print("matched")
                        break
                    }
                    await client.close()
                }
            }
            """
    }
}
