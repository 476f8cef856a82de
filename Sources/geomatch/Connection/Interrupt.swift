import Dispatch
import Glibc
import Synchronization

/// Ctrl-C and SIGTERM as an event, as long as this value lives; without one they end the program.
///
/// The sources are made once and stay. One that is cancelled is taken down later on another thread, and a second one that is made
/// meanwhile shares what it set up: it would hear nothing once that is gone.
final class Interrupt: Sendable {
    private static let handlers = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])

    /// Never changed, only kept.
    nonisolated(unsafe) private static let sources = [SIGINT, SIGTERM].map { number in
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler {
            let handlers = handlers.withLock { Array($0.values) }
            // As the shell reports an end by a signal.
            if handlers.isEmpty { _exit(128 + number) }
            for handler in handlers { handler() }
        }
        source.resume()
        return source
    }

    init(_ handler: @escaping @Sendable () -> Void) {
        Self.handlers.withLock { $0[ObjectIdentifier(self)] = handler }
        _ = Self.sources
    }

    deinit { Self.handlers.withLock { $0[ObjectIdentifier(self)] = nil } }
}
