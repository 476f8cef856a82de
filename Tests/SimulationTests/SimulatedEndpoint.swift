import Datasets
import SeededRandom

import DaemonCore

/// Everybody's webhook: slow, refusing now and then, and sometimes taking a post whose answer gets lost.
final class SimulatedEndpoint: Poster {
    private let disk: SimulatedDisk
    private var underWay: [WebhookPost] = []
    private var outcomes: [(token: UInt64, outcome: PostOutcome)] = []
    /// Bodies by match id.
    private(set) var taken: [String: [UInt8]] = [:]
    private(set) var fault: String?
    var isHealed = false

    init(disk: SimulatedDisk) { self.disk = disk }

    var isIdle: Bool { underWay.isEmpty && outcomes.isEmpty }
    var hasNews: Bool { !outcomes.isEmpty }

    // MARK: What the loop uses

    func post(_ posts: [WebhookPost]) {
        // A dead process posts nothing.
        if !disk.hasCrashed { underWay += posts }
    }

    func collect() -> [(token: UInt64, outcome: PostOutcome)] {
        defer { outcomes = [] }
        return outcomes
    }

    // MARK: What the network does

    /// Posts that come to an end, in no order.
    func carryOut(_ count: Int, _ random: inout SplitMix64) {
        for _ in 0..<min(count, underWay.count) {
            let post = underWay.remove(at: random.below(underWay.count))
            let luck = isHealed ? 0 : random.below(100)
            if luck < 80 { take(post) }
            let outcome: PostOutcome =
                switch luck {
                case ..<70: .taken(status: 200)
                case ..<90: .failed(reason: "no answer", retryAfter: nil)
                default: .failed(reason: "status 503", retryAfter: Int64(random.below(3000)))
                }
            outcomes.append((post.token, outcome))
        }
    }

    /// The process died: what was on its way arrives or not, and nobody hears of it.
    func crash(_ random: inout SplitMix64) {
        for post in underWay where random.chance(50) { take(post) }
        underWay = []
        outcomes = []
    }

    private func take(_ post: WebhookPost) {
        if let known = taken[post.matchID], known != post.body { fault = "match \(post.matchID) was posted with two bodies" }
        taken[post.matchID] = post.body
    }
}
