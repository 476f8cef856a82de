package import Wire

/// The dataset's change feed as it comes in on a client's connection, until ``end()``.
///
/// Its reader requests it from the daemon with `changes/follow`.
package struct ChangeFeed: Sendable {
    package enum News: Sendable {
        /// `{"storeId","since","last","rows":[…]}`
        case page(JSONObject)
        /// The daemon must be asked again: it may have forgotten who follows.
        case recovered
        case stateChanged
        /// Something was written here, or somebody else wants a turn.
        case turn
        case failed(GeomatchError)
    }

    private let session: Session
    private let number: Int
    let news: Mailbox<News, Never>

    init(_ session: Session) {
        self.session = session
        (number, news) = session.change { core in
            let feed = FeedCore()
            feed.number = core.add(feed)
            feed.begin(core)
            return (feed.number, feed.news)
        }
    }

    package func end() {
        let number = number
        session.change { core in (core.components[number] as? FeedCore)?.end(core) }
    }

    /// The next piece of news; nil where none came in time.
    package func next(within limit: Duration) async -> News? {
        await withTaskGroup(of: News?.self) { group in
            group.addTask { await news.next() }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}

extension GeomatchClient {
    package func changeFeed() -> ChangeFeed { ChangeFeed(session) }
}
