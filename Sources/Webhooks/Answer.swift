import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// The head of an answer; the body is counted and dropped.
final class Answer: HTTPClientResponseDelegate {
    typealias Response = Void

    /// The body goes on beyond what is read of it.
    struct TooLong: Error {}

    private let bytesMaximum: Int
    private let state = Mutex<(head: HTTPResponseHead?, bytes: Int)>((nil, 0))

    init(bytesMaximum: Int) { self.bytesMaximum = bytesMaximum }

    var head: HTTPResponseHead? { state.withLock { $0.head } }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let bytes = state.withLock { state in
            state.bytes += part.readableBytes
            return state.bytes
        }
        return bytes <= bytesMaximum ? task.eventLoop.makeSucceededVoidFuture() : task.eventLoop.makeFailedFuture(TooLong())
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {}
}
