import Testing

@testable import Store
@testable import Records

@Suite("Every store: matches")
struct MatchConformance {
    private func match(_ number: Int64, device: String = "d", pending: Bool = false) -> DurableChange {
        .put(
            MatchRecord(
                number: number, dataset: "city", id: "m\(number)", deviceId: device, subscriptionId: "s", publicationId: "p",
                owner: "client", createdAt: number, body: Array("body \(number)".utf8), pending: pending))
    }

    private func numbers(_ store: any DurableStore, after: String? = nil, limit: Int = 100) throws -> [Int64]? {
        try store.matches(dataset: "city", deviceId: "d", after: after, limit: limit)?.map(\.number)
    }

    @Test("The newest hundred are listed, oldest first, and read on from any of them", arguments: Subject.allCases)
    func newestHundred(_ subject: Subject) throws {
        try subject.withStore { store in
            try store.commit((1...150).map { match($0) } + [match(151, device: "other")])
            #expect(try numbers(store) == Array(51...150))
            #expect(try numbers(store, limit: 3) == [148, 149, 150])
            #expect(try numbers(store, after: "m147") == [148, 149, 150])
            #expect(try numbers(store, after: "m51", limit: 2) == [52, 53])
            #expect(try numbers(store, after: "m150") == [])
            #expect(try numbers(store, limit: .min) == [150])
            #expect(try numbers(store, limit: .max) == Array(51...150))
        }
    }

    @Test(
        "After a match that is not among them there is no answer", arguments: Subject.allCases,
        ["m1", "m50", "m151", "nothing", ""])
    func unknownStart(_ subject: Subject, _ after: String) throws {
        try subject.withStore { store in
            try store.commit((1...150).map { match($0) } + [match(151, device: "other")])
            #expect(try numbers(store, after: after) == nil)
        }
    }

    @Test("One match is read with its body, in its own dataset only", arguments: Subject.allCases)
    func oneMatch(_ subject: Subject) throws {
        try subject.withStore { store in
            try store.commit([match(1)])
            #expect(try store.match(dataset: "city", id: "m1")?.body == Array("body 1".utf8))
            #expect(try store.match(dataset: "park", id: "m1") == nil)
            #expect(try store.match(dataset: "city", id: "m2") == nil)
        }
    }

    @Test(
        "A match to be delivered outlives its device and its place in the list, unseen, until it is delivered",
        arguments: Subject.allCases)
    func deliveryIsOwed(_ subject: Subject) throws {
        try subject.withStore { store in
            try store.commit([
                .put(DeviceRecord(dataset: "city", id: "d", type: .pin, createdAt: 1, updatedAt: 1, revision: "1-a")),
                match(1, pending: true), match(2), match(3, pending: true), .forgetMatch(number: 3),
            ])
            #expect(try numbers(store) == [1, 2])
            try store.commit([.deleteDevice(dataset: "city", id: "d")])
            #expect(try numbers(store) == [])
            #expect(try store.match(dataset: "city", id: "m1") == nil)
            let owed = try store.restored().matches
            #expect(owed.map(\.number) == [1, 3])
            #expect(owed.map(\.body) == [Array("body 1".utf8), Array("body 3".utf8)])
            try store.commit([.matchCompleted(number: 1), .matchCompleted(number: 3)])
            #expect(try store.restored().matches.isEmpty)
        }
    }

    @Test(
        "A restart gives delivered matches without their bodies, in one order with those to be delivered",
        arguments: Subject.allCases)
    func restoredMatches(_ subject: Subject) throws {
        try subject.withStore { store in
            try store.commit([match(1), match(2, pending: true), match(3), .matchCompleted(number: 9)])
            let matches = try store.restored().matches
            #expect(matches.map(\.number) == [1, 2, 3])
            #expect(matches.map(\.pending) == [false, true, false])
            #expect(matches.map { $0.body.isEmpty } == [true, false, true])
        }
    }
}
