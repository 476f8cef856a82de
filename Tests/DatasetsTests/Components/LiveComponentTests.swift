import LiveTopics
import SeededRandom
import Testing
import Wire

@testable import Datasets
@testable import Records

@Suite("Live states and their subscribers, without a hub")
struct LiveComponentTests {
    private let dataset = Dataset(DatasetRecord(id: "d", createdAt: 0, updatedAt: 0, revision: ""))
    private let states = LiveStates()
    private let subscribers: LiveSubscribers

    init() {
        var configuration = HubConfiguration()
        configuration.administrators = AccessPatterns([])
        subscribers = LiveSubscribers(configuration, states: states, parser: JSONParser())
    }

    /// Makes a state known with the next number.
    private func known(_ topic: String) throws -> LiveState {
        let live = try LiveTopic(encoded: topic)
        let state = LiveState(dataset: dataset, live: live, topic: topic)
        states.insert(state)
        var payload: [UInt8] = []
        LiveMessage.encode(
            topic: topic, domain: live.domain, itemID: live.itemID, timestamp: 1, receivedAt: 1, properties: Array("{}".utf8),
            originSourceId: nil, derived: false, into: &payload)
        state.payload = payload
        state.number = states.nextNumber()
        return state
    }

    private func subscribe(_ id: String, qos: UInt8 = 0, snapshot: Bool = false) throws -> LiveSubscription {
        try subscribers.add(
            LiveSubscriptionRecord(
                dataset: "d", client: "c", id: id, criteria: "d/#", condition: nil, within: nil, minInterval: 0, qos: qos,
                snapshot: snapshot, lease: 60, leaseUntil: 60_000, createdAt: 0, number: 0), in: dataset)
    }

    @Test("A subscription hears of nothing before it is durable, then in order, until its lease is over")
    func subscription() throws {
        var turn = Turn(at: 0, seed: (1, 2))
        let subscription = try subscribe("s")
        let state = try known("d/-/-/-/-/x/co2")
        subscribers.isOpen = true
        subscribers.report(state, &turn)
        #expect(turn.effects.output.isEmpty)
        subscribers.begin(subscription.handle, serial: subscription.serial + 1, &turn)
        #expect(turn.effects.output.isEmpty)
        subscribers.begin(subscription.handle, serial: subscription.serial, &turn)
        subscribers.report(state, &turn)
        #expect(turn.effects.output.items.count == 2)
        turn.now = 60_000
        subscribers.advance(&turn)
        #expect(turn.effects.changes == [.deleteLiveSubscription(dataset: "d", client: "c", id: "s")])
        #expect(dataset.liveSubscriptions.isEmpty && Array(subscribers.all).isEmpty)
    }

    @Test("A snapshot shows what is known, and what may not have arrived is reported again")
    func snapshot() throws {
        var turn = Turn(at: 0, seed: (1, 2))
        for topic in ["d/-/-/-/-/x/co2", "d/-/-/-/-/y/co2"] { _ = try known(topic) }
        let subscription = try subscribe("s", snapshot: true)
        subscribers.isOpen = true
        subscribers.beginSnapshot(of: subscription)
        subscribers.begin(subscription.handle, serial: subscription.serial, &turn)
        #expect(turn.effects.output.items.count == 2 && subscribers.isSettled)
        subscribers.reopen(since: 0)
        #expect(subscribers.continueSnapshots(count: 10, &turn) == 2)
    }

    @Test("Dirty states are written in the order in which they lie once they are due, those of a dataset that is loaded later")
    func dirty() throws {
        let (x, y) = (try known("d/-/-/-/-/x/co2"), try known("d/-/-/-/-/y/co2"))
        for state in [y, x, y] { states.markDirty(state) }
        #expect(states.nextDue() == nil)
        states.noteDue()
        dataset.isLoading = true
        #expect(states.nextDue() == nil && states.dirtyCount == 2)
        dataset.isLoading = false
        states.noteDue()
        #expect(states.nextDue() === x && states.nextDue() === y && states.dueCount == 0)
    }

    @Test("What is dirty at an instant is written then, and nothing else, however states change, come and go meanwhile")
    func writing() throws {
        var random = SplitMix64(seed: SplitMix64.seed())
        var (dirty, due): (Set<String>, Set<String>) = ([], [])
        var serial = 0
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<3:
                serial += 1
                let state = try known("d/-/-/-/-/l\(serial)/co2")
                states.markDirty(state)
                dirty.insert(state.topic)
            case 3..<6:
                guard let state = states.all.randomElement(using: &random) else { continue }
                states.markDirty(state)
                dirty.insert(state.topic)
            case 6..<8:
                guard let state = states.all.randomElement(using: &random) else { continue }
                states.remove(state)
                dirty.remove(state.topic)
                due.remove(state.topic)
            case 8:
                guard due.isEmpty || Bool.random(using: &random) else { continue }
                states.noteDue()
                due = dirty
            default:
                guard let state = states.nextDue() else { continue }
                #expect(due.remove(state.topic) != nil && dirty.remove(state.topic) != nil)
            }
            #expect(states.dirtyCount == dirty.count && states.dueCount == due.count)
        }
        states.noteDue()
        while let state = states.nextDue() { #expect(dirty.remove(state.topic) != nil) }
        #expect(dirty.isEmpty && states.dirtyCount == 0)
    }

    @Test("What may be lacking is reported again, and what is left of a deleted dataset cleared")
    func resync() throws {
        var turn = Turn(at: 0, seed: (1, 2))
        var resync = Resync()
        resync.clear("e/-/-/-/-/x/co2", of: "e")
        resync.clearStatus(of: "e")
        // Each connection begins anew: nothing is reported twice.
        let state = try known("d/-/-/-/-/x/co2")
        for _ in 0..<2 { resync.begin([state], holding: 0, deleted: ["e"]) }
        #expect(resync.continueClearing(count: 10, states, exists: { _ in false }, &turn) == 2)
        resync.continueStates(count: 10, subscribers, &turn)
        #expect(resync.isSettled && turn.effects.output.items.count == 3)
        #expect(turn.effects.changes == [.forgetLiveState(dataset: "e", topic: "e/-/-/-/-/x/co2")])
    }
}

@Suite("Followers of a feed, without a hub")
struct FollowersTests {
    private let followers = Followers(administrators: AccessPatterns([]))

    private func page(_ last: Int64) -> StoreAnswer {
        .feed(FeedPage(last: last, purgedThrough: 0, rows: [], isPart: false))
    }

    private func numbers(_ turn: Turn) -> [UInt32] {
        turn.effects.queries.compactMap { if case .feed(.stream(let number)) = $0.use { number } else { nil } }
    }

    @Test("The store is asked while the door is open, once for each change, and goes on behind what arrived")
    func follows() throws {
        var turn = Turn(at: 0, seed: (1, 2))
        followers.follow(
            FollowerRecord(dataset: "d", client: "c", since: 0, lease: 60, leaseUntil: 60_000), keeping: nil, &turn)
        #expect(numbers(turn).isEmpty)
        followers.open(&turn)
        let number = try #require(numbers(turn).first)
        var message: Followers.Message = (Array("page".utf8), 5, 1, false)
        followers.answer(page(5), to: number, { _, _ in message }, &turn)
        #expect(turn.effects.output.payloads == ["page"])
        followers.delivered(FollowerToken(number: number, page: 1), &turn)
        #expect(followers["d", "c"]?.record.since == 5 && numbers(turn).count == 1)
        turn.effects.removeAll()
        turn.keep(
            .putDocument(
                DocumentRecord(
                    dataset: "d", type: "note", id: "n", owner: nil, reader: nil, leaves: [], ancestors: [])))
        followers.announce(&turn)
        #expect(numbers(turn) == [number])
        message.rows = 0
        message.last = 9
        followers.answer(page(9), to: number, { _, _ in message }, &turn)
        followers.advance(&turn)
        #expect(followers["d", "c"]?.record.since == 9)
        turn.now = 60_000
        followers.advance(&turn)
        #expect(followers.isEmpty && followers.count(of: "d") == 0)
    }
}
