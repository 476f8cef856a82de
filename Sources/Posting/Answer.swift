import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// The head of an answer and the beginning of its body; what follows is counted and dropped.
package final class Answer: HTTPClientResponseDelegate {
    package typealias Response = Void

    /// The body goes on beyond what is read of it.
    struct TooLong: Error {}

    private struct State {
        var head: HTTPResponseHead?
        var bytes = 0
        var body: [UInt8] = []
    }

    private let bytesMaximum: Int
    private let keptMaximum: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - bytesMaximum: Of a body with more, the connection is closed.
    ///   - keptMaximum: So much of it is kept.
    package init(bytesMaximum: Int, keptMaximum: Int = 0) {
        self.bytesMaximum = bytesMaximum
        self.keptMaximum = keptMaximum
    }

    package var head: HTTPResponseHead? { state.withLock { $0.head } }
    package var body: [UInt8] { state.withLock { $0.body } }

    package func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    package func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let bytes = state.withLock { state in
            let room = keptMaximum - state.body.count
            if room > 0 { state.body += part.readableBytesView.prefix(room) }
            state.bytes += part.readableBytes
            return state.bytes
        }
        return bytes <= bytesMaximum ? task.eventLoop.makeSucceededVoidFuture() : task.eventLoop.makeFailedFuture(TooLong())
    }

    package func didFinishRequest(task: HTTPClient.Task<Void>) {}
}
