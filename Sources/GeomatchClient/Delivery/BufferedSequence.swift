/// What comes in while you do something else: a sequence with a bounded buffer of its own.
///
/// It collects from the moment you got it, not from the first `next()`, so nothing is missed between asking for it and
/// iterating. Each one you ask for is a consumer of its own; iterate each by one task. A consumer that is slower than
/// what comes in loses the oldest elements, counted in ``dropped``.
public struct BufferedSequence<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    let mailbox: Mailbox<Element, Failure>

    /// Elements this consumer lost because it was too slow.
    public var dropped: Int { mailbox.dropped }

    public func makeAsyncIterator() -> Iterator { Iterator(mailbox: mailbox) }

    public struct Iterator: AsyncIteratorProtocol {
        let mailbox: Mailbox<Element, Failure>

        /// The next element; nil at the end, and when the task is cancelled.
        public mutating func next() async throws(Failure) -> Element? { try await mailbox.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
            try await mailbox.next()
        }
    }
}
