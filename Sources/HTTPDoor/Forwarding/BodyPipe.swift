import NIOCore
import Synchronization

/// Hands the parts of a body from its reader to its sender, one at a time.
///
/// One task sends and finishes, one reads, and any closes.
final class BodyPipe: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private struct State {
        var part: ByteBuffer?
        /// Waits until the part is read.
        var sender: CheckedContinuation<Bool, Never>?
        /// Waits for a part.
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
        var end: Result<Void, any Error>?
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Returns: false where nobody reads any longer.
    func send(_ part: ByteBuffer) async -> Bool {
        await withCheckedContinuation { continuation in
            let (reader, isOver) = state.withLock { state -> (CheckedContinuation<ByteBuffer?, any Error>?, Bool) in
                guard state.end == nil else { return (nil, true) }
                if let reader = state.reader.take() { return (reader, false) }
                (state.part, state.sender) = (part, continuation)
                return (nil, false)
            }
            if let reader { reader.resume(returning: part) }
            if reader != nil || isOver { continuation.resume(returning: !isOver) }
        }
    }

    /// Sends a whole body, as far as it is read.
    func send(contentsOf parts: some AsyncSequence<ByteBuffer, any Error>) async {
        do {
            for try await part in parts { guard await send(part) else { return } }
            finish()
        } catch {
            finish(.failure(error))
        }
    }

    /// The body is complete, or broke.
    func finish(_ end: Result<Void, any Error> = .success(())) {
        let reader = state.withLock { state in
            state.end = state.end ?? end
            return state.reader.take()
        }
        switch end {
        case .success: reader?.resume(returning: nil)
        case .failure(let error): reader?.resume(throwing: error)
        }
    }

    /// Its sender has sent all there is.
    var isComplete: Bool {
        state.withLock { state in
            if case .success = state.end { !state.isClosed } else { false }
        }
    }

    /// Nobody reads any longer.
    func close() {
        let sender = state.withLock { state in
            state.isClosed = true
            state.end = state.end ?? .success(())
            state.part = nil
            return state.sender.take()
        }
        sender?.resume(returning: false)
        finish()
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let pipe: BodyPipe

        func next() async throws -> ByteBuffer? { try await pipe.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pipe: self) }

    private func next() async throws -> ByteBuffer? {
        try await withCheckedThrowingContinuation { continuation in
            let (found, sender) = state.withLock {
                state -> (Result<ByteBuffer?, any Error>?, CheckedContinuation<Bool, Never>?) in
                if let part = state.part.take() { return (.success(part), state.sender.take()) }
                switch state.end {
                case .success: return (.success(nil), nil)
                case .failure(let error): return (.failure(error), nil)
                case nil: state.reader = continuation
                }
                return (nil, nil)
            }
            sender?.resume(returning: true)
            if let found { continuation.resume(with: found) }
        }
    }
}
