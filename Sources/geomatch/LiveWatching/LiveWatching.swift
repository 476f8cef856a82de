import GeomatchClient
import Wire

import struct GeomatchClient.LiveUpdate

/// A live subscription of which every message is shown until the command ends.
///
/// The lease is short, so that little is left behind where the end cannot be reported. Guarded by the connection's lock.
final class LiveWatching: LiveDataObserver, @unchecked Sendable {
    private let selection: LiveSelection
    private let output: any LiveOutput
    private let broker: String
    private var left: Int?
    private var rows = LiveRows()
    private var failure: GeomatchError?
    /// Ends when enough was shown, or nobody looks any more.
    private let (showing, end) = AsyncStream<Never>.makeStream()

    static let leaseSeconds = 300

    /// - Parameter count: The command ends after so many messages; nil for no end.
    init(_ selection: LiveSelection, count: Int?, output: any LiveOutput, _ broker: String) {
        self.broker = broker
        self.selection = selection
        self.output = output
        left = count
    }

    func run(_ client: GeomatchClient) async throws {
        let manager = LiveDataManager(client)
        manager.observe(self)
        let subscription: LiveSubscription
        do throws(GeomatchError) {
            subscription = try await manager.subscribe(to: selection.liveCriteria)
        } catch {
            throw failure(error, isConnected: client.connectionState == .connected)
        }
        for await _ in showing {}
        await shielded {
            _ = try? await client.reply(to: "live/unsubscribe", ["id": .string(subscription.id)], timeout: .seconds(1))
        }
        // The manager ends its subscriptions where nobody keeps it.
        withExtendedLifetime(manager) {}
        if let failure { throw failure }
    }

    /// What is to be said of a subscription that failed.
    private func failure(_ error: GeomatchError, isConnected: Bool) -> any Error {
        if error.kind == .notFound, error.field == "request" {
            return CommandFailure.failed(
                "this geomatchd is older than live subscriptions; "
                    + "`geomatch watch live --direct` reads live/… at the broker itself")
        }
        if error.field == "where", let condition = selection.condition, let position = error.position {
            return CommandFailure.errorReply(ErrorText.of(error) + "\n" + Caret.text(in: condition, at: position))
        }
        guard error.kind == .unread || error.kind == .timeout && isConnected else { return error }
        var failure = CommandFailure(error, isConnected: true)
        failure.message += "\n--direct reads live/… at the broker itself."
        return failure
    }

    // MARK: LiveDataObserver

    func received(_ update: LiveUpdate, _ message: UnsafeRawBufferPointer?) {
        guard left != 0 else { return }
        if let message {
            let wasFull = rows.isFull
            show(message, rows.apply(message, now: WallClock.now()))
            if rows.isFull, !wasFull {
                output.note("more than \(LiveRows.countMax) topics: what leaves of the others is not noticed", isGood: false)
            }
        } else if let row = rows.remove(update.topic.encoded) {
            row.leftMessage.withUnsafeBytes { show($0, .left) }
        }
    }

    private func show(_ message: UnsafeRawBufferPointer, _ change: LiveRows.Change) {
        output.message(message, change)
        left = left.map { $0 - 1 }
        if left == 0 { end.finish() }
    }

    func receivedAll() {
        output.flush(rows)
        if output.isClosed { end.finish() }
    }

    func happened(_ event: LiveDataEvent) {
        switch event {
        case .subscribed(let subscription):
            output.note("watching \(selection.text) at \(broker), Ctrl-C ends", isGood: true)
            for hint in subscription.hints { output.note("hint: \(hint)", isGood: false) }
        case .failed(let error) where error.kind == .connectionLost:
            output.note("\(error.message); trying again", isGood: false)
        case .failed(let error): output.note(error.message, isGood: false)
        case .subscriptionFailed(_, let error):
            failure = error
            end.finish()
        default: break
        }
    }

    func restored() { output.note("connected again", isGood: true) }
    func daemonLeft() { output.note("geomatchd is offline; waiting for it", isGood: false) }

    func turn(now: Int64) -> Int64 {
        let next = output.turn(rows, now: now)
        output.flush(rows)
        return next
    }
}

extension LiveSelection {
    /// Shows what the selection lets through: as lines, or as a table on a terminal.
    ///
    /// - Parameter lines: Where the lines are not the usual ones.
    func watch(_ configuration: GeomatchConfiguration, count: Int?, asJSON: Bool, lines: (any LiveOutput)? = nil) async throws {
        var configuration = configuration
        configuration.leaseSeconds = LiveWatching.leaseSeconds
        // The output reports it, in its place.
        configuration.connectionLost = nil
        let terminal = asJSON || count != nil || lines != nil ? nil : TerminalScreen()
        guard let terminal else {
            let watching = LiveWatching(self, count: count, output: lines ?? LiveLines(asJSON: asJSON), configuration.brokerName)
            try await withClient(configuration) { try await watching.run($0) }
            return
        }
        let screen = LiveScreen(terminal, title: text)
        let watching = LiveWatching(self, count: nil, output: screen, configuration.brokerName)
        defer { screen.close() }
        try await withClient(configuration) { try await watching.run($0) }
        screen.close()
        StandardError.line("geomatch: \(screen.summary)")
    }
}
