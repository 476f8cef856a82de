import LiveTopics
import Wire
import Records

// live/snapshot

extension LiveSubscribers {
    /// The known updates that somebody wants, in the order of their topics; `next` is the last topic shown.
    func snapshot(_ call: Call) throws(WireError) -> any Search {
        try call.checkReader()
        let filter = try call.parameters.liveFilter(in: call.dataset)
        var page = Page(limit: try call.parameters.listLimit())
        page.after = try call.parameters.optionalString("after", characters: 1...4096)
        // A subscription that is never stored: the same rules decide.
        let probe = try LiveSubscription(
            LiveSubscriptionRecord(
                dataset: call.dataset.id, client: call.client.name, id: "-", criteria: filter.criteria.encoded,
                condition: filter.condition, within: filter.within, lease: 1, leaseUntil: call.now, createdAt: call.now,
                number: self.states.lastNumber), in: call.dataset,
            view(of: call.client.name, in: call.dataset))
        // Said once, with the first page.
        return SnapshotSearch(self, probe, page, hints: page.after == nil ? filter.hints(in: call.dataset) : [])
    }
}

/// Goes through the topics that the criteria of a subscription want, in portions.
struct TopicWalk {
    private var cursor: UInt32 = 0

    /// Topics whose levels are compared, and bytes that are searched, for one effort.
    private static let (stepsPerEffort, bytesPerEffort) = (64, 256)

    func isOver(for subscription: LiveSubscription) -> Bool { cursor >= subscription.dataset.liveTopics.end }

    /// - Returns: nil: there is none, or not within the effort.
    mutating func next(for subscription: LiveSubscription, _ effort: inout Int) -> LiveState? {
        let table = subscription.dataset.liveTopics
        let found = table.next(subscription.pattern, from: cursor, steps: effort * Self.stepsPerEffort)
        effort -= 1 + Int(found.number - cursor) / Self.stepsPerEffort
        cursor = found.number
        return found.state
    }

    /// A message is about to be tested: each test that searches may go through all of it, and an area asks where a device is.
    func noteTest(of payload: [UInt8], by subscription: LiveSubscription, _ effort: inout Int) {
        guard subscription.isConditional else { return }
        effort -= payload.count * (1 + (subscription.selector?.searches ?? 0)) / Self.bytesPerEffort
        if subscription.area != nil { effort -= 1 }
    }
}

/// The states that a subscription would be shown.
private final class SnapshotSearch: Search {
    private let subscribers: LiveSubscribers
    private let probe: LiveSubscription
    private let page: Page
    private let hints: [String]
    /// Each with the number of its message, as it was looked at.
    private var smallest: Smallest<(state: LiveState, number: Int64)>
    private var walk = TopicWalk()

    init(_ subscribers: LiveSubscribers, _ probe: LiveSubscription, _ page: Page, hints: [String]) {
        self.subscribers = subscribers
        self.probe = probe
        self.page = page
        self.hints = hints
        smallest = Smallest(page)
    }

    func goOn(_ effort: inout Int) -> [UInt8]? {
        let dataset = probe.dataset
        defer { dataset.shared.noteExceeded(dataset.matchAccount) }
        while !walk.isOver(for: probe) {
            guard effort > 0 else { return nil }
            guard let state = walk.next(for: probe, &effort), let payload = state.payload else { continue }
            let key = ByteKey(state.topic)
            guard smallest.wants(key) else {
                smallest.noteCut()
                continue
            }
            walk.noteTest(of: payload, by: probe, &effort)
            if passes(state) { smallest.insert((state, state.number), key) }
        }
        return page.encode("updates", smallest.sorted, id: \.key.text, hints: hints, isCut: smallest.isCut) { found in
            let (state, number) = found.element
            guard let payload = state.payload else { return nil }
            // What changed since it was looked at may have left.
            let isStill = state.number == number ? subscribers.mayShow(state, probe) : passes(state)
            return isStill ? payload : nil
        }
    }

    private func passes(_ state: LiveState) -> Bool {
        var subject = LiveSubject(state)
        return subscribers.passes(&subject, probe)
    }
}
