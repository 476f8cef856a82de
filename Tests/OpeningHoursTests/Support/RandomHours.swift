import SeededRandom

/// Texts by chance: well-formed ones, and soups of what texts are made of.
enum RandomHours {
    private static let weekdays = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let pieces =
        weekdays + months + [
            "24/7", "PH", "SH", "off", "closed", "open", "unknown", "easter", "week", "sunrise", "sunset", "(", ")", "[", "]",
            "-", "-", "-", ",", ",", ";",
            ";", "||", ":", "+", "/", ".", "\"", "\"x\"", "1", "2", "5", "08:00", "18:30", "24:00", "26:00", "8", "18", "am",
            "pm", "h", "day", "days",
            "to", "and", "late", "2020", "2021", "0800", "29", "31", "summer", "\u{301}", "é", "１２：００", "–", "\u{0}", "\u{1F600}",
            "99999999999",
        ]

    static func soup(_ random: inout SplitMix64) -> String {
        (0..<random.below(14)).map { _ in random.pick(pieces) + (random.chance(50) ? " " : "") }.joined()
    }

    /// One to four rules that are understood.
    static func value(_ random: inout SplitMix64) -> String {
        var text = rule(&random)
        for _ in 0..<random.below(4) { text += random.pick(["; ", "; ", ", ", " || "]) + rule(&random) }
        return text
    }

    private static func rule(_ random: inout SplitMix64) -> String {
        var parts: [String] = []
        if random.chance(30) { parts.append(dates(&random)) }
        if random.chance(70) { parts.append(days(&random)) }
        let times = (0..<random.below(3)).map { _ in span(&random) }.joined(separator: ",")
        // An additional rule needs an end before it.
        parts.append(times.isEmpty ? random.pick(["off", "open", "\"c\"", "unknown"]) : times)
        if !times.isEmpty && random.chance(25) { parts.append(random.pick(["off", "unknown", "\"a\"", "open \"b\""])) }
        return parts.joined(separator: " ")
    }

    private static func dates(_ random: inout SplitMix64) -> String {
        switch random.below(6) {
        case 0: random.pick(months) + "-" + random.pick(months)
        case 1: "\(random.pick(months)) \(1 + random.below(28))-\(random.pick(months)) \(1 + random.below(28))"
        case 2: "week \(1 + random.below(26))-\(27 + random.below(27))/\(1 + random.below(3))"
        case 3: "\(2019 + random.below(3))"
        case 4: "easter -\(1 + random.below(60)) days-easter +\(1 + random.below(60)) days"
        default: "2020 \(random.pick(months)) \(1 + random.below(28))+"
        }
    }

    private static func days(_ random: inout SplitMix64) -> String {
        switch random.below(5) {
        case 0: random.pick(weekdays) + "-" + random.pick(weekdays)
        case 1: random.pick(weekdays) + "," + random.pick(weekdays)
        case 2: random.pick(weekdays) + "[\(1 + random.below(5)),-\(1 + random.below(5))]"
        case 3: random.pick(["PH", "SH", "PH,Mo", "SH Mo-We", "PH +1 day"])
        default: random.pick(weekdays)
        }
    }

    private static func span(_ random: inout SplitMix64) -> String {
        let from = clock(random.below(1440))
        return switch random.below(8) {
        case 0: from + "+"
        case 1: "\(from)-\(clock(random.below(2881)))+"
        case 2: "\(from)-\(clock(1440 + random.below(1441)))"
        case 3: random.pick(["sunrise-sunset", "sunset-sunrise", "(sunset-01:00)-23:00", "dawn+", "06:00-dusk"])
        default: "\(from)-\(clock(random.below(1440)))"
        }
    }

    private static func clock(_ minutes: Int) -> String {
        let hours = minutes / 60
        let rest = minutes % 60
        return "\(hours < 10 ? "0" : "")\(hours):\(rest < 10 ? "0" : "")\(rest)"
    }
}
