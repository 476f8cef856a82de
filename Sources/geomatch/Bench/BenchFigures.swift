import Wire

/// What a measurement found, for people and for programs.
struct BenchFigures: Sendable {
    /// How long things took, in nanoseconds.
    struct Durations: Sendable {
        private var nanoseconds: [Int64] = []

        var count: Int { nanoseconds.count }

        mutating func add(_ duration: Int64) { nanoseconds.append(duration) }

        /// Milliseconds within which this share of all was done: the nearest rank, so always one that was measured.
        ///
        /// - Parameter share: Above 0, at most 1.
        /// - Returns: nil where nothing was measured.
        func milliseconds(within share: Double) -> Double? {
            guard !nanoseconds.isEmpty else { return nil }
            let rank = (share * Double(nanoseconds.count)).rounded(.up)
            return Double(nanoseconds.sorted()[max(1, Int(rank)) - 1]) / 1e6
        }
    }

    /// Devices, publications and subscriptions made, and the seconds until the last was answered.
    var objects = 0
    var objectSeconds = 0.0
    var updatesSent = 0
    /// From the first update to the last live message.
    var updateSeconds = 0.0
    var updates = Durations()
    var matchesExpected = 0
    var matches = Durations()

    /// Takes over what was found of updates and matches.
    mutating func add(_ other: BenchFigures) {
        (updatesSent, updateSeconds, updates) = (other.updatesSent, other.updateSeconds, other.updates)
        (matchesExpected, matches) = (other.matchesExpected, other.matches)
    }

    private var updatesPerSecond: Double { updateSeconds > 0 ? Double(updates.count) / updateSeconds : 0 }

    var lines: [String] {
        [
            "requests  \(objects) objects in \(PlainText.decimal(objectSeconds, 3)) s",
            "updates   \(updatesSent) in \(PlainText.decimal(updateSeconds, 2)) s "
                + "(\(PlainText.decimal(updatesPerSecond, 0))/s), \(updatesSent - updates.count) missing" + text(updates),
            "matches   \(matchesExpected), \(matchesExpected - matches.count) missing" + text(matches),
        ]
    }

    private func text(_ durations: Durations) -> String {
        guard let half = durations.milliseconds(within: 0.5), let most = durations.milliseconds(within: 1),
            let nearlyAll = durations.milliseconds(within: 0.99)
        else { return "" }
        return "; p50 \(PlainText.decimal(half, 2)) ms, p99 \(PlainText.decimal(nearlyAll, 2)) ms, "
            + "most \(PlainText.decimal(most, 2)) ms"
    }

    var object: JSONValue {
        let requests: JSONObject = ["objects": .integer(Int64(objects)), "seconds": .double(objectSeconds)]
        var updates: JSONObject = [
            "sent": .integer(Int64(updatesSent)), "missing": .integer(Int64(updatesSent - self.updates.count)),
            "seconds": .double(updateSeconds), "perSecond": .double(updatesPerSecond.rounded()),
        ]
        add(self.updates, to: &updates)
        var matches: JSONObject = [
            "expected": .integer(Int64(matchesExpected)), "missing": .integer(Int64(matchesExpected - self.matches.count)),
        ]
        add(self.matches, to: &matches)
        return .object(["requests": .object(requests), "updates": .object(updates), "matches": .object(matches)])
    }

    private func add(_ durations: Durations, to object: inout JSONObject) {
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("most", 1)] {
            object[name] = durations.milliseconds(within: share).map { .double($0) } ?? .null
        }
    }
}
