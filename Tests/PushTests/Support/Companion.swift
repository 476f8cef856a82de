import Foundation
import Synchronization

/// A program that answers lines with lines of JSON, and ends with the test.
final class Companion: Sendable {
    private struct State {
        var lines: [[String: Any]] = []
        var rest = Data()
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var hasEnded = false
    }

    private let process: Process
    private let input = Pipe()
    private let state = Mutex<Box>(Box())

    /// Only looked at under the lock.
    private final class Box: @unchecked Sendable { var state = State() }

    init(_ arguments: [String]) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = input
        let output = Pipe()
        process.standardOutput = output
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.take(data)
        }
        try process.run()
    }

    private func take(_ data: Data) {
        let due = state.withLock { box -> [CheckedContinuation<Void, Never>] in
            box.state.hasEnded = data.isEmpty
            box.state.rest += data
            while let end = box.state.rest.firstIndex(of: 10) {
                let line = box.state.rest[..<end]
                box.state.rest = Data(box.state.rest[(end + 1)...])
                if let object = (try? JSONSerialization.jsonObject(with: line)) as? [String: Any] {
                    box.state.lines.append(object)
                }
            }
            let (count, hasEnded) = (box.state.lines.count, box.state.hasEnded)
            defer { box.state.waiters.removeAll { $0.count <= count || hasEnded } }
            return box.state.waiters.filter { $0.count <= count || hasEnded }.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    func send(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

    /// The line of a number, from 0 on; empty where the program ended before.
    func line(_ index: Int) async -> [String: Any] {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { box in
                if box.state.lines.count > index || box.state.hasEnded { return true }
                box.state.waiters.append((index + 1, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        return state.withLock { box in
            nonisolated(unsafe) let line = box.state.lines.count > index ? box.state.lines[index] : [:]
            return line
        }
    }

    var count: Int { state.withLock { $0.state.lines.count } }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.terminate()
        process.waitUntilExit()
    }

    /// Runs a program to its end.
    @discardableResult
    static func run(_ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    static let hasNode = ((try? run(["node", "--version"])) ?? 1) == 0
}
