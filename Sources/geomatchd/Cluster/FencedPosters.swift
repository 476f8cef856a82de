import DaemonCore
import Datasets
import Push
import Webhooks

// What posts, of a shard: while the lease is not renewed posts wait, as another node may have made them.

final class FencedWebhooks: Poster {
    private let webhooks: Webhooks
    private let mayPost: @Sendable () -> Bool
    private var waiting: [WebhookPost] = []

    init(_ webhooks: Webhooks, mayPost: @escaping @Sendable () -> Bool) {
        self.webhooks = webhooks
        self.mayPost = mayPost
    }

    func post(_ posts: [WebhookPost]) {
        waiting += posts
        guard !waiting.isEmpty, mayPost() else { return }
        webhooks.post(waiting)
        waiting = []
    }

    func collect() -> [(token: UInt64, outcome: PostOutcome)] {
        post([])
        return webhooks.collect()
    }
}

final class FencedPush: PushPoster {
    private let push: Push
    private let mayPost: @Sendable () -> Bool
    private var waiting: [PushPost] = []

    init(_ push: Push, mayPost: @escaping @Sendable () -> Bool) {
        self.push = push
        self.mayPost = mayPost
    }

    func post(_ posts: [PushPost]) {
        waiting += posts
        guard !waiting.isEmpty, mayPost() else { return }
        push.post(waiting)
        waiting = []
    }

    func collect() -> [PushResult] {
        post([])
        return push.collect()
    }
}
