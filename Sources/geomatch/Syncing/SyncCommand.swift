import ArgumentParser
import Foundation
import GeomatchClient

/// `geomatch sync FILE`: a replica in a file, kept in step with the daemon.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Keep a file with the documents of a dataset in step with the daemon, both ways.",
        usage: "geomatch sync FILE [--once | --offline] [--put JSON]… [--show TYPE]",
        discussion: """
            The file is a SQLite database of this client and dataset, made where it is not there. What the daemon has comes into it, \
            what was written into it goes to the daemon: until Ctrl-C, across lost connections, or with --once until all is \
            exchanged. Each change is a line: where it comes from (+ the daemon, - refused by it, . here), type, id, revision.

            --put and --show need no network: a document is written into the file, or what it holds is printed, one JSON document \
            a line, pending ones included.

            Exit codes: 0 all exchanged, or Ctrl-C; 1 the daemon refused something; 69 not reached.

            Examples:
              geomatch sync replica.sqlite
              geomatch sync replica.sqlite --offline \\
                  --put '{"type":"note","id":"1","text":"hello"}'
              geomatch sync replica.sqlite --once
              geomatch sync replica.sqlite --show note
            """)

    @OptionGroup(title: "Connection options")
    var connection: ConnectionOptions

    @OptionGroup
    var output: OutputOptions

    @Argument(help: ArgumentHelp("The file.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "End when everything is exchanged.")
    var once = false

    @Flag(help: "Exchange nothing: with --put.")
    var offline = false

    @Option(help: ArgumentHelp("Write this document first; may be given several times.", valueName: "JSON"))
    var put: [String] = []

    @Option(help: ArgumentHelp("Print the documents of this type that the file holds, and end.", valueName: "TYPE"))
    var show: String?

    func validate() throws {
        if offline, put.isEmpty { throw ValidationError("--offline without --put does nothing") }
        if show != nil, once || offline || !put.isEmpty { throw ValidationError("--show excludes --once, --offline and --put") }
    }

    func run() async throws {
        let configuration = try connection.configuration()
        do {
            let store = try OfflineStore(
                file: URL(fileURLWithPath: file), dataset: configuration.dataset, client: configuration.client)
            if let show { return try list(store, type: show) }
            for text in put { try write(text, into: store) }
            guard !offline else { return }
            let syncing = Syncing(store, asJSON: output.json)
            try await withClient(configuration) { try await syncing.run($0, once: once) }
            try syncing.reportRefusals(once: once)
        } catch let error as GeomatchError {
            throw CommandFailure(error)
        }
    }

    private func list(_ store: OfflineStore, type: String) throws {
        var after: String?
        var lines = StandardOutput()
        repeat {
            let page = try store.documents(type: type, after: after, limit: 500)
            for document in page {
                var members = document.members
                members["id"] = .string(document.id)
                members["type"] = .string(document.type)
                members["revision"] = .string(document.revision)
                lines.line(PropertyValue.object(members).description)
            }
            after = page.count == 500 ? page.last?.id : nil
        } while after != nil && !lines.isClosed
        lines.flush()
    }

    private func write(_ text: String, into store: OfflineStore) throws {
        guard let document = PropertyValue(json: text)?.objectValue, let type = document["type"]?.stringValue else {
            throw CommandFailure.usage("--put takes a JSON object with a `type`, not \(PlainText.printable(text))")
        }
        switch document["deleted"] ?? .bool(false) {
        case .bool(false), .null: break
        case .bool(true): return try delete(type, document["id"]?.stringValue, from: store)
        case let other: throw CommandFailure.usage("`deleted` is true or false, not \(PlainText.printable(other.description))")
        }
        let written = try store.put(document, type: type, id: document["id"]?.stringValue)
        StandardError.line("geomatch: written \(PlainText.printable("\(type) \(written.id)")) \(written.revision)")
    }

    /// The file knows which revision is deleted: of what it does not hold, nothing is.
    private func delete(_ type: String, _ id: String?, from store: OfflineStore) throws {
        guard let id else { throw CommandFailure.usage("--put with `deleted` needs the `id` of what is deleted") }
        let name = PlainText.printable("\(type) \(id)")
        guard try store.document(type: type, id: id) != nil else {
            throw CommandFailure.failed("the file has no \(name) to delete: exchange it first, with --once")
        }
        try store.delete(type: type, id: id)
        StandardError.line("geomatch: deleted \(name)")
    }
}
