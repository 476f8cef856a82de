import Foundation
import Testing

/// Another package that depends on `GeomatchClient` by version.
@Suite("As a dependency")
struct ConsumerTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "geomatch-consumer-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    /// Runs a program to its end and returns what it said on standard output.
    private func run(_ arguments: String...) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(arguments): \(String(decoding: said, as: UTF8.self))")
        return said
    }

    private func write(_ text: String, to file: String) throws {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try text.write(toFile: file, atomically: true, encoding: .utf8)
    }

    private struct Manifest: Decodable {
        struct Target: Decodable {
            struct Dependency: Decodable {
                var byName: [String?]?
            }
            struct Setting: Decodable {
                /// What kind of setting it is.
                struct Value: Decodable {}
                var kind: [String: Value]
            }
            var name: String
            var dependencies: [Dependency]
            var settings: [Setting]
        }
        var targets: [Target]

        /// Those with flags that SwiftPM calls unsafe among `name` and what it needs.
        func unsafeTargets(of name: String) -> Set<String> {
            var found: Set<String> = []
            var seen: Set<String> = []
            var waiting = [name]
            while let next = waiting.popLast() {
                guard seen.insert(next).inserted, let target = targets.first(where: { $0.name == next }) else { continue }
                if target.settings.contains(where: { $0.kind.keys.contains("unsafeFlags") }) { found.insert(next) }
                waiting += target.dependencies.compactMap { $0.byName?.first ?? nil }
            }
            return found
        }
    }

    private func manifest(in folder: String) throws -> Manifest {
        try JSONDecoder().decode(Manifest.self, from: run("swift", "package", "--package-path", folder, "dump-package"))
    }

    @Test("Where the package is a dependency no target of the library has unsafe flags; by itself the engine keeps its own")
    func flags() throws {
        try withFolder { folder in
            for place in ["checkouts/geomatch", "own/geomatch"] {
                try write(
                    try String(contentsOfFile: Self.root + "/Package.swift", encoding: .utf8),
                    to: "\(folder)/\(place)/Package.swift")
            }
            let dependency = try manifest(in: folder + "/checkouts/geomatch")
            #expect(dependency.unsafeTargets(of: "GeomatchClient").isEmpty)
            let own = try manifest(in: folder + "/own/geomatch")
            #expect(own.unsafeTargets(of: "geomatchd").contains("Matching"))
        }
    }

    @Test(
        "A package that depends on the library by version builds in release",
        .enabled(
            if: ProcessInfo.processInfo.environment["GEOMATCH_TEST_ALL"] != nil, "it takes minutes; deploy/test --all has it"))
    func builds() throws {
        try withFolder { folder in
            let clone = folder + "/geomatch"
            _ = try run("git", "clone", "--quiet", Self.root, clone)
            _ = try run("git", "-C", clone, "tag", "99.0.0")
            try write(
                """
                // swift-tools-version: 6.2
                import PackageDescription

                let package = Package(
                    name: "consumer", platforms: [.macOS(.v15)],
                    dependencies: [.package(url: "file://\(clone)", from: "99.0.0")],
                    targets: [
                        .executableTarget(
                            name: "consumer", dependencies: [.product(name: "GeomatchClient", package: "geomatch")])
                    ])
                """, to: folder + "/consumer/Package.swift")
            try write(
                """
                import GeomatchClient

                print(try GeomatchClient(broker: "mqtt://127.0.0.1:1883", dataset: "demo", client: "me").connectionState)
                """, to: folder + "/consumer/Sources/consumer/main.swift")
            let log = String(
                decoding: try run("swift", "build", "-c", "release", "--verbose", "--package-path", folder + "/consumer"),
                as: UTF8.self)
            #expect(log.contains("-module-name Selectors"), "the log has no compiler calls")
            #expect(!log.contains("-Ounchecked"))
            #expect(try run(folder + "/consumer/.build/release/consumer") == Data("closed\n".utf8))
        }
    }
}
