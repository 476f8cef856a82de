import ArgumentParser
import Foundation
import Wire

/// `geomatch backup FILE`: what a daemon keeps, as one file, while it runs.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy what a daemon keeps into one file, while it runs.",
        usage: "geomatch backup FILE [--data-dir DIR]",
        discussion: """
            Run it on the daemon's machine, as a user who may read the data directory. The file is consistent: it has everything that \
            was durable at one moment, all datasets, and replaces a file of that name when it is whole. It also has the secrets of \
            webhooks: keep it as safe as the data directory.

            What the embedded broker holds is not in it: retained live data is published again from the restored store, and messages \
            that wait for clients that are away are lost, but for matches and other durable messages not yet acknowledged.

            Example:
              geomatch backup /var/backups/geomatch.sqlite --data-dir /var/lib/geomatch
            """)

    @Argument(help: ArgumentHelp("The file to write.", valueName: "FILE"))
    var file: String

    @Option(help: ArgumentHelp("The daemon's data directory.", valueName: "DIR"))
    var dataDir = "./geomatch-data"

    @OptionGroup
    var output: OutputOptions

    func run() throws {
        guard FileManager.default.fileExists(atPath: dataDir + "/" + StoreFile.name) else {
            throw CommandFailure.failed(
                "there is no \(dataDir)/\(StoreFile.name): name the daemon's data directory with --data-dir (the package's is /var/lib/geomatch)"
            )
        }
        // What the daemon does comes first.
        _ = nice(10)
        let bytes = try StoreFile.copy(dataDir + "/" + StoreFile.name, to: file)
        if output.json {
            StandardOutput.print(json: ["file": .string(file), "bytes": .integer(Int64(bytes))])
        } else {
            StandardOutput.print("\(file): \(bytes) bytes")
        }
    }
}

/// `geomatch restore FILE --data-dir DIR`: a new data directory of a backup.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make a data directory of a backup.",
        usage: "geomatch restore FILE --data-dir DIR",
        discussion: """
            The directory must be empty or not exist, and no daemon may use it. Start geomatchd with --data-dir DIR then. An older \
            backup is brought to the version of the daemon; a newer one than the daemon is refused by it.

            Do not run the restored daemon beside the one the backup was made of: to the broker both are the same.

            Example:
              geomatch restore /var/backups/geomatch.sqlite --data-dir /var/lib/geomatch
            """)

    @Argument(help: ArgumentHelp("A file that `geomatch backup` wrote.", valueName: "FILE"))
    var file: String

    @Option(help: ArgumentHelp("The directory to make.", valueName: "DIR"))
    var dataDir: String

    @OptionGroup
    var output: OutputOptions

    func run() throws {
        let files = FileManager.default
        guard !StoreFile.isInUse(dataDir) else { throw CommandFailure.failed("\(dataDir) is in use by a daemon: stop it first") }
        if let held = try? files.contentsOfDirectory(atPath: dataDir), !held.isEmpty {
            throw CommandFailure.failed("\(dataDir) is not empty: name a new directory, or move it away first")
        }
        do {
            try files.createDirectory(
                atPath: dataDir, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure.failed("\(dataDir) cannot be made: \(error.localizedDescription)")
        }
        let bytes = try StoreFile.copy(file, to: dataDir + "/" + StoreFile.name)
        if output.json {
            StandardOutput.print(json: ["directory": .string(dataDir), "bytes": .integer(Int64(bytes))])
        } else {
            StandardOutput.print("\(dataDir): \(bytes) bytes; start with geomatchd --data-dir \(dataDir)")
        }
    }
}
