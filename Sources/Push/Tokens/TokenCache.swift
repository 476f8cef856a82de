/// A moment on the clock on the wall and on one that is never set; milliseconds.
struct Moment: Equatable, Sendable {
    var wall: Int64
    var monotonic: Int64

    /// Seconds since 1970.
    var seconds: Int64 { wall / 1000 }
}

/// A signed token that is used again until it is too old, the clock was set, or the service rejects it.
struct TokenCache {
    /// A service that rejects a new token, too, is not given another one sooner: Apple wants 20 minutes between two.
    static let pause: Int64 = 20 * 60_000
    /// A clock that was set by less changes nothing.
    static let jumpMax: Int64 = 5 * 60_000

    private let lifetime: Int64
    private var token: (text: String, madeAt: Moment)?
    /// When the last rejected one was thrown away, on the monotonic clock.
    private var rejectedAt: Int64?

    /// - Parameter lifetime: Milliseconds.
    init(lifetime: Int64) { self.lifetime = lifetime }

    mutating func current(at now: Moment, make: () throws -> String) rethrows -> String {
        if let token, now.monotonic - token.madeAt.monotonic < lifetime, !hasJumped(since: token.madeAt, now) {
            return token.text
        }
        let text = try make()
        token = (text, now)
        return text
    }

    /// The service does not take a token.
    ///
    /// - Returns: Whether another one may be tried.
    mutating func reject(_ text: String, at now: Moment) -> Bool {
        // Another post was refused before, and the next token is there.
        guard text == token?.text else { return true }
        if let rejectedAt, now.monotonic - rejectedAt < Self.pause, !(token.map { hasJumped(since: $0.madeAt, now) } ?? false) {
            return false
        }
        rejectedAt = now.monotonic
        token = nil
        return true
    }

    private func hasJumped(since then: Moment, _ now: Moment) -> Bool {
        abs((now.wall - then.wall) - (now.monotonic - then.monotonic)) >= Self.jumpMax
    }
}
