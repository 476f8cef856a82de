import Foundation
import PostgresStore
import Store

/// Where a store is: a data directory, or a PostgreSQL database.
enum StoreLocation {
    case directory(String)
    case postgres(PostgresAddress)

    init(_ text: String) throws(CommandFailure) {
        guard text.contains("://") else {
            self = .directory(text)
            return
        }
        guard let address = PostgresAddress(text) else {
            throw .usage("a store is a data directory or postgres://USER:PASSWORD@HOST[:PORT]/DB")
        }
        self = .postgres(address)
    }

    /// Without a password.
    var name: String {
        switch self {
        case .directory(let path): path
        case .postgres(let address): address.name
        }
    }

    /// - Parameter progress: Called now and then with the number of rows copied.
    func copy(to target: Self, progress: (Int) -> Void) throws(CommandFailure) -> CopyTally {
        let (source, lock) = try failing { try opened() }
        defer { try? source.close() }
        defer { withExtendedLifetime(lock) {} }
        return try target.failing { try target.fill(from: source, progress) }
    }

    // MARK: The source

    private func opened() throws -> (any CopyableStore, DataDirectory?) {
        switch self {
        case .postgres(let address): return (try PostgresStore.existing(address), nil)
        case .directory(let path):
            guard FileManager.default.fileExists(atPath: path + "/" + StoreFile.name) else {
                throw StoreError.other("there is no store in this directory")
            }
            let directory = try DataDirectory(path: path)
            return (try Store(path: directory.storePath), directory)
        }
    }

    // MARK: The target

    private func fill(from source: any CopyableStore, _ progress: (Int) -> Void) throws -> CopyTally {
        switch self {
        case .postgres(let address):
            let store = try PostgresStore(address, repliesMax: 0)
            defer { store.close() }
            guard try store.isEmpty else { throw notEmpty }
            return try CopyTally(copying: source, to: store, progress: progress)
        case .directory(let path):
            let directory = try DataDirectory(path: path)
            return try withExtendedLifetime(directory) { try fill(directory, from: source, progress) }
        }
    }

    /// Under another name, which it gets rid of once it is whole.
    private func fill(_ directory: DataDirectory, from source: any CopyableStore, _ progress: (Int) -> Void) throws -> CopyTally {
        let (path, partial) = (directory.storePath, directory.storePath + ".partial")
        if FileManager.default.fileExists(atPath: path) {
            let former = try Store(path: path)
            let isEmpty = try former.isEmpty
            try former.close()
            guard isEmpty else { throw notEmpty }
        }
        Self.remove(partial)
        do {
            let store = try Store(path: partial)
            let tally = try CopyTally(copying: source, to: store, progress: progress)
            try store.close()
            try Store.rename(partial, to: path)
            return tally
        } catch {
            Self.remove(partial)
            throw error
        }
    }

    private static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm", ".digest"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    // MARK: What goes wrong

    private var notEmpty: CommandFailure {
        .failed("\(name) is not empty: name another store, or remove what is in it first")
    }

    private func failing<Value>(_ body: () throws -> Value) throws(CommandFailure) -> Value {
        do {
            return try body()
        } catch let failure as CommandFailure {
            throw failure
        } catch StoreError.busy, DataDirectoryError.inUse {
            throw .unavailable("\(name) is in use by a daemon: stop it first")
        } catch let failure as StoreError where failure.isUnreachable {
            throw .unavailable("\(name): \(failure)")
        } catch {
            throw .failed("\(name): \(error)")
        }
    }
}
