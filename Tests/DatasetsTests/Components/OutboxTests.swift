import Testing

@testable import Datasets
@testable import Records

@Suite("The outbox, without a hub")
struct OutboxTests {
    private let outbox = Outbox(limits: HubLimits(), naming: HubConfiguration().naming, numbering: Numbering())
    private let account = MatchAccount(Diagnostics(of: "d"))

    private func event(_ id: String) -> EventRecord {
        EventRecord(
            number: 0, dataset: "d", id: id, source: .circumstance, sourceID: "c", owner: "alice", createdAt: 0,
            body: Array(id.utf8))
    }

    private func tokens(_ turn: Turn) -> [UInt64] {
        turn.effects.output.items.compactMap {
            if case .notification(let notification) = $0.kind { notification.token } else { nil }
        }
    }

    @Test("Nothing leaves before it is durable, nor while the door is closed")
    func order() {
        var turn = Turn(at: 0, seed: (1, 2))
        outbox.send(event("one"), account, &turn)
        outbox.open(&turn)
        #expect(turn.effects.output.isEmpty && turn.effects.changes.count == 1)
        outbox.close()
        outbox.noteDurable(through: 1)
        outbox.send(&turn)
        #expect(turn.effects.output.isEmpty)
        outbox.open(&turn)
        #expect(turn.effects.output.payloads == ["one"])
    }

    @Test("What is not known to have arrived is sent again, under the same token; what arrived is recorded as complete")
    func retries() throws {
        var turn = Turn(at: 0, seed: (1, 2))
        outbox.open(&turn)
        for id in ["one", "two"] { outbox.send(event(id), account, &turn) }
        outbox.noteDurable(through: 2)
        outbox.send(&turn)
        let sent = tokens(turn)
        outbox.delivered(DeliveryToken(raw: try #require(sent.first)), refusal: nil, &turn)
        turn.effects.removeAll()
        outbox.close()
        outbox.open(&turn)
        #expect(tokens(turn) == Array(sent.dropFirst()))
        turn.effects.removeAll()
        outbox.record(&turn)
        #expect(turn.effects.changes == [.eventCompleted(number: 1)])
        #expect(outbox.pending.count == 1)
    }
}
