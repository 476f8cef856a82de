import DequeModule
import Wire
import Records

/// Why input was refused, reported at most once a second for each source topic and of at most a hundred topics a second.
///
/// A flood must not become a flood of diagnostics; nothing is hidden either: what is not reported at once is counted and
/// reported a second after the last one.
struct DiagnosticsWindow {
    /// What a diagnostic is about.
    enum Kind: String, CaseIterable {
        /// The update was refused.
        case update
        /// The update was older than the state it would have replaced.
        case late
        /// The update's time was ahead of ours and became the time of arrival.
        case skewed
        /// A match did not come to whom it was for; `topic` names the recipient.
        case delivery
        /// A request came on a topic that is none.
        case request
        /// The update was accepted, and something about it looks like a slip.
        case hint
        /// A maximum was reached, and matches were not made; `topic` names the recipient.
        case overload
    }

    struct Diagnostic: Equatable {
        var kind: Kind
        /// As published; `#` for the sum of those that exceeded the bound.
        var topic: String
        /// One of the error names of the contract, what became of a match, or the kind where nothing was refused.
        var error: String
        var message: String
        var field: String?
        var count: Int
        /// Whose it is alone, where it names things of a client.
        var client: String?
    }

    private struct Sum: Hashable {
        var kind: Kind
        var client: String?
    }

    static let lengthMilliseconds: Int64 = 1000
    static let reportedMaximum = 100

    /// What came since the last diagnostic, by kind and topic; an entry stays for a second after each report, so that there
    /// are never more of them than may be reported in a second.
    private var rests: ByteKeyed<Diagnostic?> = ByteKeyed()
    /// When each was last reported, oldest first.
    private var reported = Deque<(key: String, at: Int64)>()
    /// Of topics there was no room for, and since when.
    private var excess: [Sum: (diagnostic: Diagnostic, since: Int64)] = [:]

    /// Nothing was reported within the last second and nothing waits.
    var isIdle: Bool { reported.isEmpty && excess.isEmpty }

    /// Takes a refusal in; the result is to be reported now.
    mutating func report(_ diagnostic: Diagnostic, at now: Int64) -> Diagnostic? {
        let key = "\(diagnostic.kind.rawValue) \(diagnostic.client ?? "") \(diagnostic.topic)"
        if let rest = rests[key] {
            rests[key] = .some(diagnostic.counting((rest?.count ?? 0) + diagnostic.count))
            return nil
        }
        guard rests.count < Self.reportedMaximum else {
            let key = Sum(kind: diagnostic.kind, client: diagnostic.client)
            let known = excess[key]
            var sum = diagnostic.counting((known?.diagnostic.count ?? 0) + diagnostic.count)
            sum.topic = "#"
            excess[key] = (sum, known?.since ?? now)
            return nil
        }
        rests[key] = .some(nil)
        reported.append((key, now))
        return diagnostic
    }

    /// What is to be reported of topics last reported a second ago.
    mutating func end(at now: Int64) -> [Diagnostic] {
        guard !isIdle else { return [] }
        var rest: [Diagnostic] = []
        while let first = reported.first, Self.isOver(first.at, now) {
            reported.removeFirst()
            if let diagnostic = rests[first.key] ?? nil {
                rest.append(diagnostic)
                rests[first.key] = .some(nil)
                reported.append((first.key, now))
            } else {
                _ = rests.removeValue(forKey: first.key)
            }
        }
        let sums = excess.filter { Self.isOver($0.value.since, now) }.map(\.key)
        for key in sums.sorted(by: Self.order) {
            if let sum = excess.removeValue(forKey: key) { rest.append(sum.diagnostic) }
        }
        return rest
    }

    private static func order(_ left: Sum, _ right: Sum) -> Bool {
        (left.kind.rawValue, left.client ?? "") < (right.kind.rawValue, right.client ?? "")
    }

    /// Also when the clock was put back.
    private static func isOver(_ start: Int64, _ now: Int64) -> Bool { now - start >= lengthMilliseconds || now < start }
}

extension DiagnosticsWindow.Diagnostic {
    /// A refusal of a live update.
    init(topic: String, refused error: WireError) {
        self.init(
            kind: .update, topic: topic, error: error.code.rawValue, message: error.message, field: error.field, count: 1)
    }

    fileprivate func counting(_ count: Int) -> Self {
        var counted = self
        counted.count = count
        return counted
    }

    func encode() -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("topic", topic)
            writer.member("error", error)
            writer.member("message", message)
            writer.member("field", optional: field)
            writer.member("count", count)
        }
    }
}
