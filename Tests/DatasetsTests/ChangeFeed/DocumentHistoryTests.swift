import SeededRandom
import Testing

@testable import Datasets
@testable import Records

@Suite("The revisions of a document")
struct DocumentHistoryTests {
    struct Row: Sendable {
        var better: (String, Bool)
        var worse: (String, Bool)
    }

    @Test(
        "Live wins over deleted, then the higher generation, then the higher hash",
        arguments: [
            Row(better: ("1-a", false), worse: ("9-z", true)),
            Row(better: ("10-a", false), worse: ("9-z", false)),
            Row(better: ("2-b", false), worse: ("2-a", false)),
            Row(better: ("2-ab", false), worse: ("2-a", false)),
            Row(better: ("2-a", false), worse: ("2-Z", false)),
            Row(better: ("9007199254740992-a", true), worse: ("9007199254740991-z", true)),
        ])
    func winner(_ row: Row) throws {
        let better = try leaf(row.better.0, row.better.1)
        let worse = try leaf(row.worse.0, row.worse.1)
        #expect(better.wins(over: worse) && !worse.wins(over: better))
    }

    @Test(
        "A revision is a generation and a hash",
        arguments: [
            ("1-a", true), ("9007199254740992-0", true), ("3-A.b_c-d", true), ("", false), ("1", false), ("1-", false),
            ("-a", false),
            ("0-a", false), ("01-a", false), ("+1-a", false), ("-1-a", false), ("9007199254740993-a", false),
            ("99999999999999999999-a", false), ("1-é", false), ("1- ", false), ("١-a", false),
            ("1-" + String(repeating: "a", count: 64), true), ("1-" + String(repeating: "a", count: 65), false),
        ])
    func revision(_ text: String, _ isValid: Bool) {
        #expect((RevisionID(text) != nil) == isValid)
    }

    @Test("Whatever the order of arrival, the leaves are what was added and nobody names, and the winner is the same")
    func orders() throws {
        var random = SplitMix64.forTest()
        var conflicts = 0
        for _ in 0..<300 {
            let added = try Self.randomTree(&random)
            let named = Set(added.compactMap { $0.parent?.text })
            let leaves = added.map(\.leaf).filter { !named.contains($0.revision.text) }
            for _ in 0..<6 {
                var history = DocumentHistory()
                for (leaf, parent) in added.shuffled(using: &random) {
                    let before = history
                    let wasKnown = history.isKnown(leaf.revision)
                    let fate = history.add(leaf, ancestors: parent.map { [$0] } ?? [])
                    // One that comes after its child is known, but may still take the place of its parent.
                    #expect(fate == (wasKnown ? (history.leaves.count < before.leaves.count ? .written : .exists) : fate))
                    if fate == .exists { #expect(wasKnown) }
                    if fate == .written { #expect(history.winner == leaf || history.leaves.count <= before.leaves.count) }
                    if fate == .conflict { #expect(history.winner == before.winner && history.losers.contains(leaf)) }
                }
                #expect(Set(history.leaves.map(\.revision.text)) == Set(leaves.map(\.revision.text)))
                #expect(history.winner == leaves.min { $0.wins(over: $1) })
                conflicts += history.losers.count
                // The same again changes nothing.
                let settled = history
                for (leaf, parent) in added { #expect(history.add(leaf, ancestors: parent.map { [$0] } ?? []) == .exists) }
                #expect(history == settled)
            }
        }
        #expect(conflicts > 500)
    }

    /// Revisions that name one another, or some that never come.
    private static func randomTree(
        _ random: inout SplitMix64
    ) throws -> [(leaf: DocumentLeaf, parent: RevisionID?)] {
        var added: [(leaf: DocumentLeaf, parent: RevisionID?)] = []
        for index in 0..<(1 + random.below(9)) {
            let generation = 1 + random.below(5)
            let revision = try #require(RevisionID("\(generation)-\(random.pick(["a", "b", "c"]))\(index)"))
            var parent: RevisionID?
            if random.chance(70) {
                let known = added.map(\.leaf.revision).filter { $0.generation < revision.generation }
                parent = known.isEmpty || random.chance(20) ? RevisionID("\(max(generation - 1, 1))-x") : random.pick(known)
                if let found = parent, found.generation >= revision.generation { parent = nil }
            }
            added.append((DocumentLeaf(revision: revision, isDeleted: random.chance(30)), parent))
        }
        return added
    }

    private func leaf(_ revision: String, _ isDeleted: Bool) throws -> DocumentLeaf {
        DocumentLeaf(revision: try #require(RevisionID(revision)), isDeleted: isDeleted)
    }
}
