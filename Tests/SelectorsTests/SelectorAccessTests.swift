import SeededRandom
import Testing

@testable import Selectors

@Suite("Access paths")
struct SelectorAccessTests {
    /// The keys of these properties that someone asks about.
    private func keys(_ properties: Properties, _ paths: [AccessPath]) -> Set<UInt64> {
        var names = AccessNames()
        defer { names.deallocate() }
        for path in paths { names.add(path) }
        var keys: Set<UInt64> = []
        properties.forEachKey(names) { keys.insert($0) }
        return keys
    }

    private func isOpen(_ path: AccessPath, to properties: Properties, asked paths: [AccessPath]) -> Bool {
        !keys(properties, paths).isDisjoint(with: path.keys)
    }

    @Test(
        "are of the narrowest kind the selector gives",
        arguments: [
            ("a = 1", AccessPath.Kind.equality, 1), ("1 = a", .equality, 1), ("a IN ('x', 'y', 'x')", .equality, 2),
            ("a = 1 AND b > 2", .equality, 1), ("b > 2 AND (c = 3 AND a)", .equality, 1), ("a = 1 OR b = 'x'", .equality, 2),
            ("a", .equality, 1), ("'x' = ANY (tags)", .equality, 1), ("a = ANY (1, 2)", .equality, 2),
            ("a = 1 OR b > 2", .presence, 2), ("a BETWEEN 1 AND 2", .range, 1), ("a > 1 AND a <= 2", .range, 1),
            ("5 < a AND 6 > a", .range, 1), ("a BETWEEN 1 AND b", .presence, 1), ("a > 1", .presence, 1),
            ("a LIKE 'x%'", .presence, 1), ("a NOT IN (1)", .presence, 1), ("a <> 1", .presence, 1),
            ("a IS NOT NULL", .presence, 1), ("a + b > 1", .presence, 1), ("1 <= ALL (tags)", .presence, 1),
            ("a > 1 AND a < 0", .presence, 1), ("a IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", .presence, 1),
        ])
    func kinds(_ text: String, _ kind: AccessPath.Kind, _ keys: Int) throws {
        let paths = try Selector(text).accessPaths()
        #expect(paths.first?.kind == kind)
        #expect(paths.first?.keys.count == keys)
    }

    @Test(
        "are none where nothing follows",
        arguments: ["", "NOT a = 1", "a IS NULL", "a = 1 OR b IS NULL", "TRUE", "(a IS NULL) = TRUE"])
    func none(_ text: String) throws {
        #expect(try Selector(text).accessPaths().isEmpty)
    }

    @Test(
        "tell values apart",
        arguments: [
            ("a = 1", PropertyValue.integer(1), true), ("a = 1", .double(1), true), ("a = 1", .integer(2), false),
            ("a = 1", .string("1"), false), ("a = 1.0", .integer(1), true),
            ("a = 'x'", .array([.string("y"), .string("x")]), true),
            ("a = 'a text longer than fifteen bytes'", .string("a text longer than fifteen bytes"), true),
            ("a = 'a text longer than fifteen bytes'", .string("a text longer than fifteen bytez"), false),
            ("a BETWEEN 99 AND 101", .integer(100), true), ("a BETWEEN 99 AND 101", .double(101), true),
            ("a BETWEEN 99 AND 101", .integer(110), false), ("a BETWEEN -1 AND 1", .double(-0.0), true),
            ("a BETWEEN -1 AND 1", .integer(9), false), ("a BETWEEN 3 AND 3", .integer(4), false), ("a", .boolean(false), false),
        ])
    func values(_ text: String, _ value: PropertyValue, _ isOpen: Bool) throws {
        let paths = try Selector(text).accessPaths()
        let path = try #require(paths.first)
        #expect(self.isOpen(path, to: Properties([("a", value)]), asked: paths) == isOpen)
    }

    @Test("are open to everything a random selector is TRUE of")
    func necessary() throws {
        var maker = RandomSelector(random: .forTest("access paths"))
        var (proven, narrow) = (0, 0)
        for _ in 0..<6000 {
            let selector = try Selector(maker.text(maker.condition(3)))
            let paths = selector.accessPaths()
            for _ in 0..<4 where !paths.isEmpty {
                let pairs = maker.properties()
                let properties = Properties(pairs)
                let open = paths.allSatisfy { isOpen($0, to: properties, asked: paths) }
                if selector.matches(properties) {
                    for path in paths where path.kind == .equality {
                        #expect(properties.accessSignature & path.signature != 0, "\(selector.text) on \(pairs)")
                    }
                    #expect(open, "\(selector.text) on \(pairs)")
                    proven += 1
                } else if !open {
                    narrow += 1
                }
            }
        }
        #expect(proven > 500)
        #expect(narrow > 500)
    }

    @Test("find random numbers in random ranges, on every scale")
    func ranges() throws {
        var random = SplitMix64.forTest("access paths of ranges")
        var wide = 0
        for _ in 0..<4000 {
            let scale = Double(sign: .plus, exponent: Int.random(in: -40...45, using: &random), significand: 1)
            let middle = Double.random(in: -1000...1000, using: &random) * scale
            let low = middle - Double.random(in: 0...1, using: &random) * scale
            let high = middle + Double.random(in: 0...1, using: &random) * scale
            let paths = try Selector("a BETWEEN \(low) AND \(high)").accessPaths()
            guard let path = paths.first, path.kind == .range else { continue }
            for value in [low, high, middle, Double.random(in: low...high, using: &random)] {
                #expect(isOpen(path, to: Properties([("a", .double(value))]), asked: paths), "\(value) in \(low)…\(high)")
            }
            // A block is at most eight times as long as a range that is not below the finest level.
            let far = high + 8 * max(high - low, 0x1p-23)
            if isOpen(path, to: Properties([("a", .double(far))]), asked: paths) { wide += 1 }
        }
        #expect(wide == 0)
    }

    @Test("Names nobody asks about any longer are forgotten")
    func names() throws {
        var names = AccessNames()
        defer { names.deallocate() }
        let paths = try (0..<300).flatMap { try Selector("n\($0) = 1 AND r\($0) BETWEEN \($0) AND \($0 + 7)").accessPaths() }
        for path in paths { names.add(path) }
        let full = names.bytes
        let properties = Properties([("n7", .integer(1)), ("r8", .integer(9)), ("other", .integer(1))])
        var count = 0
        properties.forEachKey(names) { _ in count += 1 }
        #expect(count == 6, "Presence and value of both, and two blocks at the one level")
        for path in paths { names.remove(path) }
        count = 0
        properties.forEachKey(names) { _ in count += 1 }
        #expect(count == 0)
        #expect(names.bytes < full / 10)
    }
}
