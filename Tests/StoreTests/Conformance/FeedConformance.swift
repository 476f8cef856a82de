import Testing

@testable import Records
@testable import Store

@Suite("Every store: the change feed")
struct FeedConformance {
    @Test("A page is read by its limits, and one of a reader from the rows it may see", arguments: Subject.allCases)
    func pages(_ subject: Subject) throws {
        try subject.withStore { store in
            let content = [UInt8](repeating: 0x20, count: 1000)
            for index in 0..<100 {
                try store.commit([
                    .putDocument(
                        DocumentRecord(
                            dataset: "city", type: "note", id: "n\(index)", owner: "c",
                            reader: index % 4 == 0 ? nil : "r\(index % 4)",
                            leaves: [DocumentLeaf(revision: try #require(RevisionID("1-a")), isDeleted: false, content: content)],
                            ancestors: []))
                ])
            }
            func page(_ since: Int64, _ limit: Int, _ bytes: Int, _ reader: String?) throws -> FeedPage {
                try store.feedPage(FeedQuery(dataset: "city", since: since, limit: limit, bytes: bytes, reader: reader))
            }
            #expect(try page(0, 1000, .max, nil).rows.count == 100)
            #expect(try page(90, 5, .max, nil).rows.map(\.seq) == [91, 92, 93, 94, 95])
            #expect(try page(90, 5, .max, nil).isPart && !(try page(95, 5, .max, nil).isPart))
            #expect(try page(0, 1000, 3500, nil).rows.count == 4)
            #expect(try page(0, 4, .max, "r1").rows.map(\.seq) == [1, 2, 5, 6])
            #expect(try page(0, 4, .max, "stranger").rows.map(\.seq) == [1, 5, 9, 13])
            #expect(try page(97, 4, .max, "stranger").rows.isEmpty)
            #expect(try page(0, 1, .max, "r3").last == 100)
        }
    }

    @Test("However much is written before it, a change gets the next number of its feed", arguments: Subject.allCases)
    func numbersBehindMuch(_ subject: Subject) throws {
        try subject.withStore { store in
            for (index, count) in (500..<520).enumerated() {
                let states = (0..<count).map { number in
                    DurableChange.put(
                        LiveStateRecord(dataset: "city", topic: "t\(number)", timestamp: 1, receivedAt: 1, number: 1, payload: [])
                    )
                }
                let device = DeviceRecord(
                    dataset: "city", id: "d\(index)", type: .mobile, createdAt: 1, updatedAt: 1, revision: "1-a")
                try store.commit(states + [.put(device)])
                let page = try store.feedPage(FeedQuery(dataset: "city", since: 0, limit: 1, bytes: 1000, reader: nil))
                #expect(page.last == Int64(index + 1), "\(count)")
            }
        }
    }

    @Test("A revision that was replaced is remembered, but not for ever", arguments: Subject.allCases)
    func ancestors(_ subject: Subject) throws {
        try subject.withStore { store in
            try store.commit(
                (1...2600).map { generation in
                    .put(
                        DeviceRecord(
                            dataset: "city", id: "d", type: .mobile, createdAt: 1, updatedAt: 1, revision: "\(generation)-a"))
                })
            let found = try store.documents([
                DocumentLookup(
                    dataset: "city", type: "device", id: "d", revisions: ["1-a", "1500-a", "1600-a", "2599-a", "2600-a"])
            ])
            #expect(found.first??.history.ancestors == ["1600-a", "2599-a"])
        }
    }
}
