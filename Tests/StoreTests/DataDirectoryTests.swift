import Foundation
import Testing

@testable import Store
@testable import Records

@Suite("Data directory")
struct DataDirectoryTests {
    @Test(
        "The folder above a path, also of one of a single character, at which Foundation's answer ended the program",
        arguments: [
            ("d", nil), ("d/", nil), ("/d", nil), ("/", nil), ("", nil), ("e/f", "e"), ("/e/f", "/e"), ("g//h/", "g"),
            ("./a/b", "./a"),
        ] as [(String, String?)])
    func parents(path: String, parent: String?) {
        #expect(DataDirectory.parent(of: path) == parent)
    }

    @Test("It is made for its owner only, with the folders above it")
    func created() throws {
        try withScratch { scratch in
            let directory = try DataDirectory(path: scratch.path + "/a/b/geomatch-data")
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
            #expect(directory.storePath == scratch.path + "/a/b/geomatch-data/geomatch.sqlite")
            #expect(directory.file("x") == scratch.path + "/a/b/geomatch-data/x")
        }
    }

    @Test("A second one is refused, naming the process that has it, until the first is let go of")
    func locked() throws {
        try withScratch { scratch in
            var first: DataDirectory? = try DataDirectory(path: scratch.path + "/data")
            for _ in 0..<2 {
                #expect(throws: DataDirectoryError.inUse(pid: getpid())) { try DataDirectory(path: scratch.path + "/data") }
            }
            #expect("\(DataDirectoryError.inUse(pid: 42))".contains("process 42"))
            #expect("\(DataDirectoryError.inUse(pid: 42))".contains("--data-dir"))
            _ = first
            first = nil
            _ = try DataDirectory(path: scratch.path + "/data")
        }
    }

    @Test("A child process does not keep the lock")
    func childDoesNotInherit() throws {
        try withScratch { scratch in
            var first: DataDirectory? = try DataDirectory(path: scratch.path + "/data")
            _ = first
            let child = Process()
            child.executableURL = URL(fileURLWithPath: "/bin/cat")
            let (input, output) = (Pipe(), Pipe())
            child.standardInput = input
            child.standardOutput = output
            try child.run()
            // What the child says back, it says as another program: the start of that one closes what is not inherited.
            input.fileHandleForWriting.write(Data("here".utf8))
            #expect(output.fileHandleForReading.availableData == Data("here".utf8))
            first = nil
            _ = try DataDirectory(path: scratch.path + "/data")
            #expect(child.isRunning)
            try input.fileHandleForWriting.close()
            child.waitUntilExit()
        }
    }

    @Test("Where it cannot be, the error says why and the way out")
    func notWritable() throws {
        try withScratch { scratch in
            let file = scratch.path + "/file"
            try Data([1]).write(to: URL(fileURLWithPath: file))
            for path in [file, file + "/below", file + "/far/below", "/proc/geomatch-data", ""] {
                let error = #expect(throws: DataDirectoryError.self) { try DataDirectory(path: path) }
                guard case .notWritable(path, _) = error else {
                    Issue.record("\(path): \(String(describing: error))")
                    continue
                }
                #expect("\(String(describing: error))".contains("--data-dir"))
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data([1]))
        }
    }
}
