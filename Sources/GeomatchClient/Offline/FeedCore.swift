internal import MQTTValues
internal import Wire

/// The dataset's change feed as it comes in. Guarded by the session's lock, as everything on it.
///
/// It only collects: a page that is left out because nobody takes it leaves a gap, which the reader of the next one sees.
final class FeedCore: SessionComponent {
    /// Pages of up to 256 KiB that may wait; beyond, the daemon is asked again.
    private static let pagesMax = 16

    var number = 0
    let news = Mailbox<ChangeFeed.News, Never>(capacity: pagesMax)
    private var filter = ""

    func begin(_ core: SessionCore) {
        filter = core.topics.changes
        core.addFilter(filter, component: number)
        core.hold(number)
    }

    func end(_ core: SessionCore) {
        core.components[number] = nil
        // Several stores may share a connection: one of the others has what comes from here on.
        if let other = others(core).first { core.addFilter(filter, component: other.number) } else { core.removeFilter(filter) }
        core.release(number)
        news.finish(nil)
    }

    func stateChanged(_ state: ConnectionState, _ core: SessionCore) { news.send(.stateChanged) }
    func recover(_ core: SessionCore) { news.send(.recovered) }
    func troubled(_ error: GeomatchError) {}
    func failed(_ error: GeomatchError, _ core: SessionCore) { news.send(.failed(error)) }
    func filterRefused(_ filter: String, _ error: GeomatchError, _ core: SessionCore) { news.send(.failed(error)) }
    func tick(_ now: Int64, _ core: SessionCore) -> Int64 { .max }

    func received(_ message: InboundMessage, _ core: SessionCore) {
        guard let page = core.parse(message.payload)?.asObject else { return }
        news.send(.page(page))
        for other in others(core) { other.news.send(.page(page)) }
    }

    private func others(_ core: SessionCore) -> [FeedCore] {
        core.components.values.compactMap { $0 as? FeedCore }.filter { $0 !== self && !$0.filter.isEmpty }
    }
}
