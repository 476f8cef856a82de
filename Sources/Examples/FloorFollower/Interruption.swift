import Dispatch
import Foundation

/// Ends what runs, on Ctrl-C.
struct Interrupted: Error {}

/// Returns at the first Ctrl-C or SIGTERM, or when the task is cancelled.
func interruption() async {
    let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
    let sources = [SIGINT, SIGTERM].map { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { continuation.yield() }
        source.resume()
        return source
    }
    for await _ in signals { break }
    sources.forEach { $0.cancel() }
}
