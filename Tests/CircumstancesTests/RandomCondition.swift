import SeededRandom

/// Random expressions over few ids, so that places meet them often.
enum RandomCondition {
    static let places = (0..<24).map { "p\($0)" }
    static let categories = ["food", "cafe", "bakery", "museum", "station"]
    static let chains = ["x", "y"]

    /// - Parameter isPlain: Nothing about visits, motion and live data.
    static func text(_ random: inout SplitMix64, depth: Int, isPlain: Bool) -> String {
        let kind = random.below(depth > 0 ? 16 : 11)
        switch isPlain && (8...10).contains(kind) ? kind - 7 : kind {
        case 0...3: return "(at \(rules(&random, depth: depth)))"
        case 4...6: return "(near \(rules(&random, depth: depth)))"
        case 7: return time(&random)
        case 8: return random.chance(50) ? "(moving)" : "(dwelling \(random.pick([30, 120, 300])))"
        case 9:
            return random.chance(50)
                ? "(visited \(rules(&random, depth: 0)))"
                : "(frequents \(rules(&random, depth: 0)) \(1 + random.below(3)) \(1 + random.below(2)))"
        case 10: return "(live occupancy nrOfPeople \(random.pick(["=", "<", ">", "<=", ">="])) \(random.below(4)))"
        case 11, 12: return "(and \(several(&random, depth: depth, isPlain)))"
        case 13, 14: return "(or \(several(&random, depth: depth, isPlain)))"
        default: return "(not \(text(&random, depth: depth - 1, isPlain: isPlain)))"
        }
    }

    private static func several(_ random: inout SplitMix64, depth: Int, _ isPlain: Bool) -> String {
        (0...random.below(3)).map { _ in text(&random, depth: depth - 1, isPlain: isPlain) }.joined(separator: " ")
    }

    static func rules(_ random: inout SplitMix64, depth: Int) -> String {
        (0...random.below(2)).map { _ in rule(&random, depth: depth - 1) }.joined(separator: " ")
    }

    private static func rule(_ random: inout SplitMix64, depth: Int) -> String {
        switch random.below(depth > 0 ? 15 : 11) {
        case 14: return "(= threshold-met \"high\")"
        case 0...2: return "(= factual-id \"\(random.pick(places))\")"
        case 3: return "(any-of factual-id \"\(random.pick(places))\" \"\(random.pick(places))\")"
        case 4, 5: return "(= category-id \"\(random.pick(categories))\")"
        case 6: return "(= exact-category-id \"\(random.pick(categories))\")"
        case 7: return "(= chain-id \"\(random.pick(chains))\")"
        case 8: return random.pick(["any-factual-place", "has-open-hours", "true"])
        case 9: return "is-open"
        case 10: return time(&random)
        case 11: return "(and \(rules(&random, depth: depth)))"
        case 12: return "(or \(rules(&random, depth: depth)))"
        default: return "(not \(rule(&random, depth: depth - 1)))"
        }
    }

    private static func time(_ random: inout SplitMix64) -> String {
        if random.chance(30) { return "(any-of local-day-of-week \(1 + random.below(7)) \(1 + random.below(7)))" }
        return "(\(random.pick(["=", "<", ">", "<=", ">="])) local-minute-of-day \(random.below(1440)))"
    }
}
