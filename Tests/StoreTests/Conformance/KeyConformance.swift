import Places
import Testing

@testable import Records
@testable import Store

@Suite("Every store: single records")
struct KeyConformance {
    private static let live = LiveStateRecord(dataset: "city", topic: "t", timestamp: 1, receivedAt: 2, number: 3, payload: [4])
    private static let subscription = LiveSubscriptionRecord(
        dataset: "city", client: "c", id: "l", criteria: "city/#", lease: 1, leaseUntil: 2, createdAt: 3, number: 4)
    private static let follower = FollowerRecord(dataset: "city", client: "c", since: 1, lease: 2, leaseUntil: 3)
    private static let category = CategoryRecord(
        dataset: "city", category: Category(id: "k", name: "n", parentID: nil, owner: nil, revision: "1-a"))
    private static let place = PlaceRecord(
        dataset: "city", place: Place(id: "p", name: "n", geometry: .point(latitude: 1, longitude: 2), revision: "1-a"))
    private static let verification = VerificationRecord(dataset: "city", placeID: "p", hour: 5, count: 6)

    private static func keys(_ dataset: String) -> [RecordKey] {
        [
            .liveState(dataset: dataset, topic: "t"), .liveSubscription(dataset: dataset, client: "c", id: "l"),
            .follower(dataset: dataset, client: "c"), .category(dataset: dataset, id: "k"), .place(dataset: dataset, id: "p"),
            RecordKey(.verification, fields: [.text(dataset), .text("p"), .integer(5)]),
        ]
    }

    private static let all: [DurableChange] = [
        .put(live), .put(subscription), .put(follower), .put(category), .put(place),
        .put(verification),
    ]

    @Test("What is there is given as it is durable, what is not as its deletion", arguments: Subject.allCases)
    func records(_ subject: Subject) throws {
        try subject.withStore { store in
            try store.commit(Self.all)
            #expect(try store.records(Self.keys("city")) == Self.all)
            #expect(try store.records(Self.keys("park")) == Self.keys("park").map { .delete($0) })
            #expect(try store.records([.place(dataset: "city", id: "p"), .place(dataset: "city", id: "q")]).count == 2)
        }
    }

    @Test("A part of a key gives all that is below it", arguments: Subject.allCases)
    func prefixes(_ subject: Subject) throws {
        try subject.withStore { store in
            var later = Self.verification
            later.hour = 6
            try store.commit(Self.all + [.put(later)])
            let part = RecordKey(.verification, fields: [.text("city"), .text("p")])
            #expect(try store.records([part]) == [.put(Self.verification), .put(later)])
            #expect(try store.records([RecordKey(.verification, fields: [.text("city"), .text("q")])]).isEmpty)
            #expect(DurableChange.deletePlace(dataset: "city", id: "p").keys == [.place(dataset: "city", id: "p"), part])
        }
    }
}
