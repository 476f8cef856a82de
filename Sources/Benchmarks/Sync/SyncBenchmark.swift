import ArgumentParser
import Dispatch
import Foundation
import GeomatchClient

/// Documents written offline and pushed, and all of them pulled by another replica.
struct SyncBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Offline writes pushed to a daemon, and documents pulled by a fresh replica.",
        discussion: """
            The daemon, its mosquitto and this program share the machine. Each document has a text of some words, a number and a list. \
            What the pull costs in memory is this program's resident size, at its peak, above what it was before.
            """)

    @Option(help: "Documents written offline and pushed at once.")
    var pushed = 10_000

    @Option(help: "Documents pulled by a fresh replica.")
    var pulled = 100_000

    func run() throws {
        try BenchDaemon.run { port, daemon in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("geomatch-sync-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            var report = Report()
            let writer = try replica("writer", port, folder)
            var written = 0
            report.add("written offline", rate(pushed, try seconds { try write(&written, pushed, to: writer) }), "documents/s")
            let push = try seconds { try exchange(writer, port) }
            report.add("\(pushed) documents pushed", push, "s", note: "\(Int(rate(pushed, push))) a second")
            while written < pulled {
                try write(&written, min(10_000, pulled - written), to: writer)
                try exchange(writer, port)
            }
            let reader = try replica("reader", port, folder)
            let before = Self.resident(peak: false)
            Self.forgetPeak()
            let pull = try seconds { try exchange(reader, port) }
            let count = try reader.count()
            report.add("\(count) documents pulled", pull, "s", note: "\(Int(rate(count, pull))) a second")
            report.add("memory of the pull", Double(Self.resident(peak: true) - before) / 1_048_576, "MiB")
            report.add("nothing left to pull", try seconds { try exchange(reader, port) } * 1000, "ms")
            report.add("memory of the daemon", Double(daemon.usage().resident) / 1_048_576, "MiB")
            print(report.table)
        }
    }

    private func replica(_ name: String, _ port: Int, _ folder: URL) throws -> OfflineStore {
        try OfflineStore(file: folder.appendingPathComponent("\(name).sqlite"), dataset: "bench", client: "bench")
    }

    private func write(_ written: inout Int, _ count: Int, to store: OfflineStore) throws {
        for _ in 0..<count {
            let number = Int64(written)
            try store.put(
                [
                    "text": .string("a note of some words that somebody wrote in the underground, number \(number)"),
                    "number": .integer(number), "tags": ["one", "two"],
                ], type: "note", id: "note-\(number)")
            written += 1
        }
    }

    private func exchange(_ store: OfflineStore, _ port: Int) throws {
        let done = DispatchSemaphore(value: 0)
        // A free task: this thread waits for it.
        let task = Task {
            defer { done.signal() }
            return try await withGeomatchClient(broker: "mqtt://127.0.0.1:\(port)", dataset: "bench", client: "bench") { client in
                try await store.sync(with: client)
            }
        }
        done.wait()
        let outcome = Outcome()
        Task {
            outcome.error = await task.result.failure
            done.signal()
        }
        done.wait()
        if let error = outcome.error { throw error }
    }

    /// Written before the semaphore that its reader waits for.
    private final class Outcome: @unchecked Sendable {
        var error: (any Error)?
    }

    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = DispatchTime.now().uptimeNanoseconds
        try body()
        return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    }

    private func rate(_ count: Int, _ seconds: Double) -> Double { Double(count) / seconds }

    /// Bytes of this program.
    private static func resident(peak: Bool) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(peak ? "VmHWM:" : "VmRSS:") } ?? ""
        return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
    }

    /// Linux counts the peak from now on.
    private static func forgetPeak() { try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs")) }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
