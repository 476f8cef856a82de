/// Where something is posted.
enum PostTarget {
    case webhook(WebhookURL)
    case push(PushTarget)

    /// What shares a queue.
    var name: String {
        switch self {
        case .webhook(let url): url.normalized
        case .push(let target): target.text
        }
    }

    /// What shares a connection, and a fate.
    var origin: String {
        switch self {
        case .webhook(let url): url.origin
        case .push(let target): target.origin
        }
    }

    /// Posts under way to its origin at most.
    var window: Int {
        switch self {
        case .push(.apns), .push(.fcm): PostQueues.serviceWindow
        case .push(.web), .webhook: PostQueues.originWindow
        }
    }
}
