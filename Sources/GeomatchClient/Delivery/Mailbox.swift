internal import Synchronization

/// A bounded queue between one sender and one consumer.
///
/// When it is full, the oldest element that may be left out is; where none may, the oldest. ``dropped`` counts them.
final class Mailbox<Element: Sendable, Failure: Error>: Sendable {
    private enum Ending {
        case none
        case finished(Failure?)
    }

    private struct State {
        var elements: [Element?] = []
        /// What lies before was taken.
        var head = 0
        var ending = Ending.none
        var dropped = 0
        var lastWaiter = 0
        var waiters: [(id: Int, continuation: CheckedContinuation<Result<Element?, Failure>, Never>)] = []

        var count: Int { elements.count - head }

        mutating func take() -> Element? {
            guard head < elements.count else { return nil }
            let element = elements[head]
            elements[head] = nil
            head += 1
            // Moved together only when half is empty: amortised constant time.
            if head >= 32, head * 2 >= elements.count {
                elements.removeFirst(head)
                head = 0
            }
            return element
        }

        mutating func makeRoom(_ mayBeLeftOut: (Element) -> Bool) {
            dropped += 1
            let place = elements[head...].firstIndex { $0.map(mayBeLeftOut) ?? false }
            if let place, place != head { elements.remove(at: place) } else { _ = take() }
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let mayBeLeftOut: @Sendable (Element) -> Bool

    /// - Parameter capacity: At least one element is kept.
    init(capacity: Int, mayBeLeftOut: @escaping @Sendable (Element) -> Bool = { _ in true }) {
        self.capacity = max(1, capacity)
        self.mayBeLeftOut = mayBeLeftOut
    }

    deinit { finish(nil) }

    /// Elements left out since the beginning because the consumer was too slow.
    var dropped: Int { state.withLock { $0.dropped } }

    func send(_ element: Element) {
        state.withLock { state in
            guard case .none = state.ending else { return }
            if !state.waiters.isEmpty {
                state.waiters.removeFirst().continuation.resumeUnlocked(returning: .success(element))
                return
            }
            if state.count >= capacity { state.makeRoom(mayBeLeftOut) }
            state.elements.append(element)
        }
    }

    /// No more elements; those that wait are still taken. The first ending counts.
    func finish(_ failure: Failure?) {
        state.withLock { state in
            guard case .none = state.ending else { return }
            state.ending = .finished(failure)
            guard !state.waiters.isEmpty else { return }
            let first = state.waiters.removeFirst()
            first.continuation.resumeUnlocked(returning: failure.map { .failure($0) } ?? .success(nil))
            state.waiters.forEach { $0.continuation.resumeUnlocked(returning: .success(nil)) }
            state.waiters.removeAll()
            state.ending = .finished(nil)
        }
    }

    /// The next element; nil at the end, and when the task is cancelled.
    func next() async throws(Failure) -> Element? {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in wait(continuation, id: id) }
        } onCancel: {
            state.withLock { state in
                guard let place = state.waiters.firstIndex(where: { $0.id == id }) else { return }
                state.waiters.remove(at: place).continuation.resumeUnlocked(returning: .success(nil))
            }
        }
        return try result.get()
    }

    private func wait(_ continuation: CheckedContinuation<Result<Element?, Failure>, Never>, id: Int) {
        let result = state.withLock { state -> Result<Element?, Failure>? in
            if let element = state.take() { return .success(element) }
            if case .finished(let failure) = state.ending {
                // A failure is reported once.
                state.ending = .finished(nil)
                return failure.map { .failure($0) } ?? .success(nil)
            }
            if Task.isCancelled { return .success(nil) }
            state.waiters.append((id, continuation))
            return nil
        }
        if let result { continuation.resume(returning: result) }
    }
}
