import Places
import SeededRandom
import Testing

@Suite("Categories know their descendants")
struct CategoryTreeTests {
    @Test("A descendant is recognised as by following the parents, in random forests that change")
    func twin() throws {
        var random = SplitMix64.forTest()
        let table = PlaceTable()
        var parents: [String: String?] = [:]
        for _ in 0..<60 {
            // A parent has a lesser number, so that there is no cycle; some are never declared.
            let categories = (0..<10).map { _ in
                let number = random.below(60)
                let parent = number > 0 && random.chance(80) ? "\(random.below(number))" : nil
                return Category(id: "\(number)", name: "n", parentID: parent)
            }
            let known = Set(parents.keys)
            let result = try table.declare(categories)
            for category in categories { parents[category.id] = .some(category.parentID) }
            #expect(result.imported == Set(categories.map(\.id)).subtracting(known).count)
            #expect(result.imported + result.replaced == categories.count)
            if random.chance(30), let gone = parents.keys.sorted().first {
                #expect(table.removeCategory(gone))
                parents[gone] = nil
            }
            check(table, parents)
        }
    }

    private func check(_ table: PlaceTable, _ parents: [String: String?]) {
        #expect(table.categories.list().map(\.id) == parents.keys.sorted())
        for id in parents.keys {
            var above = Set<String>()
            var next: String? = id
            while let id = next {
                above.insert(id)
                next = parents[id] ?? nil
            }
            guard let number = table.categories.number(id) else {
                Issue.record("\(id) has no number")
                continue
            }
            for other in 0..<60 {
                let expected = above.contains("\(other)")
                let ancestor = table.categories.number("\(other)")
                #expect((ancestor.map { table.categories.isDescendant(number, of: $0) } ?? false) == expected)
            }
        }
    }

    @Test("A cycle refuses all, and names it")
    func cycles() throws {
        let table = PlaceTable()
        try table.declare([Category(id: "a", name: "A", parentID: "b")])
        let error = #expect(throws: CategoryError.self) {
            try table.declare([Category(id: "c", name: "C"), Category(id: "b", name: "B", parentID: "a")])
        }
        #expect(error?.message == "the categories must not be their own descendants: b → a → b")
        #expect(table.categories.list().map(\.id) == ["a"])
        #expect(throws: CategoryError.cycle(["x"])) { try table.declare([Category(id: "x", name: "X", parentID: "x")]) }
        // The same categories without the cycle, by another parent for the one that is known.
        try table.declare([Category(id: "b", name: "B", parentID: "a"), Category(id: "a", name: "A")])
        #expect(table.categories.list().map(\.parentID) == [nil, "a"])
    }

    @Test("A parent that is not declared is reported, and holds as soon as it is")
    func unknownParents() throws {
        let table = PlaceTable()
        let first = try table.declare([
            Category(id: "bar", name: "Bar", parentID: "food"), Category(id: "pub", name: "Pub", parentID: "bar"),
        ])
        #expect(first.imported == 2 && first.replaced == 0 && first.unknownParents == ["food"])
        try table.upsert(Place(id: "1", categoryIDs: ["pub"], geometry: .point(latitude: 0, longitude: 0)))
        #expect(table.page(PlaceFilter(categoryID: "food"), limit: 10).handles == [0])
        #expect(try table.declare([Category(id: "food", name: "Food", parentID: "all")]).unknownParents == ["all"])
        #expect(table.page(PlaceFilter(categoryID: "all"), limit: 10).handles == [0])
        #expect(table.categories.list(after: "bar", limit: 1).map(\.id) == ["food"])
    }

    @Test("A chain of many thousands is no matter")
    func deepChain() throws {
        let table = PlaceTable()
        let chain = (0..<20_000).map { Category(id: "\($0)", name: "", parentID: $0 == 0 ? nil : "\($0 - 1)") }
        try table.declare(chain)
        let first = try #require(table.categories.number("0"))
        let last = try #require(table.categories.number("19999"))
        #expect(table.categories.isDescendant(last, of: first))
        #expect(!table.categories.isDescendant(first, of: last))
        #expect(throws: CategoryError.self) { try table.declare([Category(id: "0", name: "", parentID: "19999")]) }
    }

    @Test("A place's categories come out in order, each once, and are forgotten with it")
    func ofPlaces() throws {
        let table = PlaceTable()
        for ids in [["b", "a", "b"], ["a"], [], ["a", "b"], ["x", "y", "z"]] {
            try table.upsert(Place(id: "1", categoryIDs: ids, geometry: .point(latitude: 0, longitude: 0)))
            var expected: [String] = []
            for id in ids where !expected.contains(id) { expected.append(id) }
            #expect(table.categoryIDs(0) == expected)
        }
        #expect(table.categories.number("a") == nil)
        table.remove("1")
        #expect(table.categories.number("x") == nil)
    }
}
