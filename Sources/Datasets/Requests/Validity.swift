import Synchronization

/// Whether what was answered about something would still be answered so. Doors look into it from any thread.
///
/// It ends on the core's thread before anything leaves that says what has changed: a caller that knows of a change finds it ended.
public final class Validity: Sendable {
    private let whole: Validity?
    private let isOver = Atomic(false)

    /// - Parameter whole: What it is a part of, and ends with.
    init(within whole: Validity? = nil) { self.whole = whole }

    public var holds: Bool { !isOver.load(ordering: .acquiring) && whole?.holds ?? true }

    func end() { isOver.store(true, ordering: .releasing) }
}
