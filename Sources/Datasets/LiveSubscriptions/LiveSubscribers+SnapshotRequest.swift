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

/// The states that a subscription would be shown.
private final class SnapshotSearch: Search {
    private let subscribers: LiveSubscribers
    private let probe: LiveSubscription
    private let page: Page
    private let hints: [String]
    /// Each with the number of its message, as it was looked at.
    private var smallest: Smallest<(state: LiveState, number: Int64)>
    private var cursor: UInt32 = 0

    init(_ subscribers: LiveSubscribers, _ probe: LiveSubscription, _ page: Page, hints: [String]) {
        self.subscribers = subscribers
        self.probe = probe
        self.page = page
        self.hints = hints
        smallest = Smallest(page)
    }

    /// Topics whose levels are compared, and bytes that are searched, for one effort.
    private static let (stepsPerEffort, bytesPerEffort) = (64, 256)

    func goOn(_ effort: inout Int) -> [UInt8]? {
        let dataset = probe.dataset
        defer { dataset.shared.noteExceeded(dataset.matchAccount) }
        let table = dataset.liveTopics
        while cursor < table.end {
            guard effort > 0 else { return nil }
            let found = table.next(probe.pattern, from: cursor, steps: effort * Self.stepsPerEffort)
            effort -= 1 + Int(found.number - cursor) / Self.stepsPerEffort
            cursor = found.number
            guard let state = found.state, let payload = state.payload else { continue }
            let key = ByteKey(state.topic)
            guard smallest.wants(key) else {
                smallest.noteCut()
                continue
            }
            // Each test that searches may go through all of it, and an area asks where a device is.
            if probe.isConditional { effort -= payload.count * (1 + (probe.selector?.searches ?? 0)) / Self.bytesPerEffort }
            if probe.area != nil { effort -= 1 }
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
