import LiveTopics
import Wire
import Records

// live/snapshot

extension LiveSubscribers {
    /// The known updates that somebody wants, in the order of their topics; `next` is the last topic shown.
    func snapshot(_ call: Call) throws(WireError) -> [UInt8] {
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
        let states = firstTopics(of: probe, after: page.after, count: page.limit + 1)
        call.dataset.shared.noteExceeded(call.dataset.matchAccount)
        // Said once, with the first page.
        let hints = page.after == nil ? filter.hints(in: call.dataset) : []
        return page.encode("updates", states, id: \.topic, hints: hints, item: { $0.payload })
    }

    /// The so many topics behind one, in order: a heap of the smallest, so that a page of very many costs no sort of all.
    private func firstTopics(of probe: LiveSubscription, after: String?, count: Int) -> [LiveState] {
        let table = probe.dataset.liveTopics
        let after = after.map(ByteKey.init)
        var smallest = TopicHeap(capacity: count)
        var cursor: UInt32 = 0
        while cursor < table.end {
            let found = table.next(probe.pattern, from: cursor, steps: .max >> 1)
            cursor = found.number
            guard let state = found.state, state.payload != nil else { continue }
            let key = ByteKey(state.topic)
            if let after, !(after < key) { continue }
            guard smallest.wants(key) else { continue }
            var subject = LiveSubject(state)
            if passes(&subject, probe) { smallest.insert(state, key) }
        }
        return smallest.sorted
    }
}

/// The smallest topics of many, the largest of them on top.
private struct TopicHeap {
    private var entries: [(key: ByteKey, state: LiveState)] = []
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    func wants(_ key: ByteKey) -> Bool { entries.count < capacity || key < entries[0].key }

    mutating func insert(_ state: LiveState, _ key: ByteKey) {
        if entries.count < capacity {
            entries.append((key, state))
            rise(entries.count - 1)
        } else {
            entries[0] = (key, state)
            sink()
        }
    }

    var sorted: [LiveState] { entries.sorted { $0.key < $1.key }.map(\.state) }

    private mutating func rise(_ start: Int) {
        var place = start
        while place > 0, entries[(place - 1) / 2].key < entries[place].key {
            entries.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink() {
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < entries.count else { return }
            if child + 1 < entries.count, entries[child].key < entries[child + 1].key { child += 1 }
            guard entries[place].key < entries[child].key else { return }
            entries.swapAt(place, child)
            place = child
        }
    }
}
