import SeededRandom
import Testing

@testable import Selectors

@Suite("Random selectors")
struct SelectorFuzzTests {
    @Test("evaluate as their naive twin says, and so do their normalised texts")
    func againstTwin() throws {
        var maker = RandomSelector(random: .forTest("selectors against their twin"))
        var counts: [Bool?: Int] = [:]
        for _ in 0..<6000 {
            let expression = maker.condition(4)
            let text = maker.text(expression)
            let selector = try Selector(text)
            let again = try Selector(selector.normalised)
            #expect(again.normalised.utf8.elementsEqual(selector.normalised.utf8), "\(text)")
            #expect(selector.normalised.unicodeScalars.count <= text.unicodeScalars.count, "\(text)")
            for _ in 0..<3 {
                let pairs = maker.properties()
                let properties = Properties(pairs)
                let twin = NaiveTruth(properties: Dictionary(uniqueKeysWithValues: pairs.map { ($0.name, $0.value) }))
                let expected = twin.truth(expression)
                counts[expected, default: 0] += 1
                #expect(selector.evaluate(properties) == expected, "\(text) on \(pairs)")
                #expect(selector.matches(properties) == (expected == true), "\(text) on \(pairs)")
                #expect(again.evaluate(properties) == expected, "\(selector.normalised) on \(pairs)")
                _ = selector.mismatches(in: properties)
            }
        }
        // A run in which one of the truths is rare would prove little.
        for truth in [true, false, nil] { #expect(counts[truth, default: 0] > 1500) }
    }

    @Test("A selector whose comparisons types decide is never true by them")
    func advice() throws {
        var maker = RandomSelector(random: .forTest("advice"))
        var reported = 0
        for _ in 0..<6000 {
            let selector = try Selector(maker.text(maker.condition(0)))
            let properties = Properties(maker.properties())
            // What is said of a name in double quotes is a doubt, not a decision.
            let sentences = selector.hints.filter { !$0.contains("in double quotes") } + selector.mismatches(in: properties)
            guard let sentence = sentences.first else { continue }
            reported += 1
            let impossible = !sentence.contains(" be false")
            #expect(selector.evaluate(properties) != impossible, "\(selector.text): \(sentence)")
        }
        #expect(reported > 500)
    }

    private func position(_ text: String) -> Int? {
        do {
            _ = try Selector(text)
            return nil
        } catch {
            return error.position
        }
    }

    @Test("Random tokens are read or refused within the text")
    func tokenSoup() {
        var random = SplitMix64.forTest("token soup")
        let tokens = [
            "a", "b", "tags", "\"a b\"", "'x'", "''", "1", "2.5", "-", "+", "*", "/", "(", ")", "(", ")", ",", "=", "<>", "<",
            ">=", "AND",
            "OR", "NOT", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS", "NULL", "ANY", "ALL", "SOME", "TRUE", "FALSE", "'!'", "%", "--",
            "'", "\"",
            "9223372036854775808", "0x1", "007", "🙂", "é", "\u{0}",
        ]
        var valid = 0
        for _ in 0..<20_000 {
            let text = (0..<(1 + random.below(12))).map { _ in random.pick(tokens) }.joined(separator: random.pick(["", " "]))
            guard let position = position(text) else {
                valid += 1
                continue
            }
            #expect((0...text.unicodeScalars.count).contains(position), "\(text)")
        }
        #expect(valid > 100)
    }

    @Test("Random bytes are refused within the text, or read")
    func bytes() {
        var random = SplitMix64.forTest("random bytes")
        for _ in 0..<10_000 {
            let bytes = (0..<random.below(40)).map { _ in
                UInt8.random(in: random.chance(70) ? 0x20...0x7E : 0...255, using: &random)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if let position = position(text) { #expect((0...text.unicodeScalars.count).contains(position)) }
        }
    }

    @Test("A mutilated selector is refused within the text, or read")
    func mutilated() {
        var maker = RandomSelector(random: .forTest("mutilated selectors"))
        for _ in 0..<4000 {
            var scalars = Array(maker.text(maker.condition(3)).unicodeScalars)
            for _ in 0..<(1 + maker.random.below(3)) where !scalars.isEmpty {
                let index = maker.random.below(scalars.count)
                if maker.random.chance(50) {
                    scalars.remove(at: index)
                } else {
                    scalars[index] = maker.random.pick(["(", "'", " ", "=", "9"])
                }
            }
            let text = String(String.UnicodeScalarView(scalars))
            if let position = position(text) { #expect((0...scalars.count).contains(position), "\(text)") }
        }
    }
}
