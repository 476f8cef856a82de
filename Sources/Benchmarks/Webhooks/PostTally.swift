import Foundation
import WebhookReceiver

/// Which matches an endpoint was sent, and how long that took.
///
/// `@unchecked Sendable`: everything that changes is behind `condition`.
final class PostTally: @unchecked Sendable {
    struct Result {
        var taken: Int
        /// Posts of a match that had come before.
        var twice: Int
        /// Milliseconds.
        var median: Double
        var late: Double
    }

    /// Guards everything below.
    private let condition = NSCondition()
    private var dueTimes: [UInt64] = []
    private var seen: Set<Int> = []
    private var latencies: [Double] = []
    private var posts = 0

    /// The next match is due at this instant.
    func due(_ nanoseconds: UInt64) { condition.withLock { dueTimes.append(nanoseconds) } }

    func note(_ post: WebhookReceiver.Post, at now: UInt64) {
        guard let number = Self.number(in: String(decoding: post.body, as: UTF8.self)) else { return }
        condition.withLock {
            posts += 1
            if seen.insert(number).inserted, dueTimes.indices.contains(number) {
                latencies.append(Double(now) / 1e6 - Double(dueTimes[number]) / 1e6)
            }
            condition.broadcast()
        }
    }

    /// Returns when all have come, or none for ten seconds.
    func waitForAll(_ count: Int) {
        condition.withLock {
            while seen.count < count { if !condition.wait(until: Date(timeIntervalSinceNow: 10)) { return } }
        }
    }

    func result(sent: Int) -> Result {
        condition.withLock {
            let sorted = latencies.sorted()
            return Result(
                taken: seen.count, twice: posts - seen.count, median: Load.Result.percentile(sorted, 0.5),
                late: Load.Result.percentile(sorted, 0.99))
        }
    }

    /// The altitude of the subscription's side, which counts from 1.
    private static func number(in body: String) -> Int? {
        guard let key = body.range(of: "\"altitude\":") else { return nil }
        return Int(body[key.upperBound...].prefix { $0.isNumber }).map { $0 - 1 }
    }
}
