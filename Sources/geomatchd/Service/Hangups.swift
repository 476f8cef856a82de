import Dispatch
import Glibc

/// SIGHUP as events: from the moment this exists it no longer ends the program.
///
/// `@unchecked Sendable`: the source is kept and not touched after `init`.
final class Hangups: @unchecked Sendable {
    enum Event: Equatable {
        /// Somebody asks for a reload.
        case reload
        /// The terminal that the program was started from is gone.
        case terminalClosed
    }

    let events: AsyncStream<Event>
    private let source: any DispatchSourceSignal

    init() {
        let terminals = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].filter { isatty($0) == 1 }
        // Before the source: a signal between the two would be the end.
        signal(SIGHUP, SIG_IGN)
        let (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(1))
        self.events = events
        source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global())
        source.setEventHandler {
            // One that was hung up is no terminal any more.
            let isGone = terminals.contains { isatty($0) != 1 }
            continuation.yield(isGone ? .terminalClosed : .reload)
        }
        source.resume()
    }
}
