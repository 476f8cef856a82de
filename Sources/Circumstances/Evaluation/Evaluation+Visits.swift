// What `visited` and `frequents` are worth.

extension Evaluation {
    /// The visits to places that still exist.
    var visits: [(place: UInt32, visit: VisitRow)] {
        guard let history = situation.visits else { return [] }
        return zip(history.places, history.rows).compactMap { place, row in place.map { ($0, row) } }
    }

    /// Whether a visit to such a place has ended.
    mutating func visited(_ index: Int, _ node: Program.Node) -> Outcome {
        var outcome = Outcome(truth: .false)
        for (place, visit) in visits where visit.count > 0 {
            ruleDue = .max
            let truth = rules(index, node, place, visit.level)
            if truth == .true { return Outcome(truth: .true, due: ruleDue) }
            if truth == .unknown { outcome.truth = .unknown }
            outcome.relyOn(slack: .infinity, due: ruleDue)
        }
        return outcome
    }

    /// At least so many visits whose last moment lies within so many days.
    mutating func frequents(_ index: Int, _ node: Program.Node) -> Outcome {
        let wanted = Int(node.operand)
        let span = Int64(node.count) * 86_400_000
        var outcome = Outcome(truth: .false)
        var sure: [Int64] = []
        var possible: [Int64] = []
        for (place, visit) in visits {
            ruleDue = .max
            let truth = rules(index, node, place, visit.level)
            outcome.relyOn(slack: .infinity, due: ruleDue)
            guard truth != .false else { continue }
            // The visit of now ends at no time that is known.
            let ends = visit.ends.filter { $0 >= situation.instant - span } + (visit.openSince == nil ? [] : [.max])
            if truth == .true { sure.append(contentsOf: ends) } else { possible.append(contentsOf: ends) }
        }
        if sure.count >= wanted {
            sure.sort(by: >)
            outcome.truth = .true
            outcome.relyOn(slack: .infinity, due: Self.leaving(sure[wanted - 1], span))
        } else if sure.count + possible.count >= wanted {
            outcome.truth = .unknown
            for end in sure + possible { outcome.relyOn(slack: .infinity, due: Self.leaving(end, span)) }
        }
        return outcome
    }

    /// When a visit that ended then no longer counts.
    private static func leaving(_ end: Int64, _ span: Int64) -> Int64 {
        let (instant, isNever) = end.addingReportingOverflow(span + 1)
        return isNever ? .max : instant
    }
}
