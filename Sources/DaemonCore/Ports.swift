import Datasets
import Glibc
import Records

// What the core needs from outside: doors, a log of what is durable, who posts, a clock. The daemon gives it the real ones, tests others
// that lose, repeat, refuse and crash as they are made to.

/// Where things come in and leave, over one transport.
public protocol Door: AnyObject {
    /// How much waits to leave.
    var backlog: Int { get }
    /// Bytes of replies to the clients of a queue (``ReturnAddress/queue``) that were sent and have not arrived.
    func replyBytes(of queue: UInt32) -> Int
    /// More requests of a client wait than may, and too many replies to it have not arrived: the door keeps away what it can of them.
    ///
    /// - Returns: Whether those that come nevertheless may stay without a reply.
    func isFlooded(by client: String, in dataset: String) -> Bool
    /// Sends what leaves, in order; replies to requests of other doors are not its own.
    func send(_ batch: OutputBatch)
    /// A dataset came or went, or the store has one by now: that is said before the reply to its creation is sent.
    func datasetsChanged()
    /// The broker that keeps what was sent on a live topic is to erase it; nothing comes in by that.
    func eraseInput(_ topic: String)
    /// Has the core's ``Core/woken()`` called on its thread. From any thread.
    func wake()
    /// Hands the core what came in on other threads, within a batch, for a slice of time.
    ///
    /// - Returns: Whether more waits.
    func bring() -> Bool
    /// Everything brought so far has been carried out, with what follows from it: a caller that waits for that may be answered.
    func answerInput()
    /// Whether a message of a live subscription is for this door alone.
    func keepsForItself(_ notification: Notification) -> Bool
    /// Whether messages for all of an audience are for this door alone.
    func keepsForItself(_ audience: Audience) -> Bool
    /// Whose a reply is, and where below all that is the client's it goes; nil: nowhere there, or another door knows.
    func recipient(of answer: ReturnAddress) -> Recipient?
    /// A live subscription ended, or began anew under the same id.
    func subscriptionEnded(_ recipient: Recipient)
    /// What the door keeps of these messages, to send them again, goes.
    func forget(_ forgotten: Forgotten)
}

extension Door {
    /// What is sent has arrived.
    public func replyBytes(of queue: UInt32) -> Int { 0 }
    /// The caller waits for the reply on a connection of its own.
    public func isFlooded(by client: String, in dataset: String) -> Bool { false }
    /// Everything comes in on the core's thread.
    public func bring() -> Bool { false }
    /// Nobody waits.
    public func answerInput() {}
    /// What is a client's is for all doors.
    public func keepsForItself(_ notification: Notification) -> Bool { false }
    public func keepsForItself(_ audience: Audience) -> Bool { false }
    /// Replies go to the caller alone.
    public func recipient(of answer: ReturnAddress) -> Recipient? { nil }
    /// It is the same to the door who asked for them.
    public func subscriptionEnded(_ recipient: Recipient) {}
    /// It keeps none.
    public func forget(_ forgotten: Forgotten) {}
    /// Nobody keeps it.
    public func eraseInput(_ topic: String) {}
}

/// Where changes become durable, in order.
public protocol DurableLog: AnyObject {
    /// Whether what is appended is tried at once: false from the first write that failed to the next that succeeds.
    var isWritable: Bool { get }
    /// How many changes were appended and are not yet durable.
    var backlog: Int { get }
    /// Hands over changes; their token comes back in a ``LogCompletion``. Tokens rise.
    ///
    /// - Parameter mayWait: They are kept where the store refuses; else they are given back, with all that was appended behind them.
    func append(_ changes: [DurableChange], token: UInt64, mayWait: Bool)
    /// The refusal was taken in: what is appended from now on is new.
    func resume(afterRefusal token: UInt64)
    /// Asks about what is durable, beside the writes.
    func read(_ question: StoreQuery.Kind, token: UInt64)
    /// Reads again what a refusal put in doubt, on a thread of the log's own; what is durable by then counts.
    func load(_ request: LoadRequest, token: UInt64)
    /// What was done since the last call, in order.
    func collect() -> [LogCompletion]
}

/// Something the log has done.
public enum LogCompletion: Sendable {
    /// All changes up to this token are durable.
    case durable(through: UInt64)
    /// Nothing from this token on was kept; everything appended until ``DurableLog/resume(afterRefusal:)`` is not either.
    case refused(from: UInt64, reason: String)
    case answer(UInt64, StoreAnswer)
    case loaded(UInt64, Result<LoadedState, LoadFailure>)
}

/// Why something could not be read.
public struct LoadFailure: Error, CustomStringConvertible {
    public let description: String

    public init(_ error: any Error) { description = "\(error)" }
}

/// What posts to webhooks, each post once.
public protocol Poster: AnyObject {
    func post(_ posts: [WebhookPost])
    func collect() -> [(token: UInt64, outcome: PostOutcome)]
}

/// What hands messages to push services, each once.
public protocol PushPoster: AnyObject {
    func post(_ posts: [PushPost])
    func collect() -> [PushResult]
}

/// What time it is, in milliseconds.
public struct CoreClock: Sendable {
    /// Since 1970 UTC.
    public var now: @Sendable () -> Int64
    /// For deadlines: a clock that is set meanwhile does not move it.
    public var monotonic: @Sendable () -> Int64

    public init(now: @escaping @Sendable () -> Int64, monotonic: @escaping @Sendable () -> Int64) {
        self.now = now
        self.monotonic = monotonic
    }

    public static let system = CoreClock(
        now: { milliseconds(CLOCK_REALTIME) }, monotonic: { milliseconds(CLOCK_MONOTONIC) })

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
