import Selectors

/// Evaluations of selectors that exceeded their budget, reported once a minute.
struct BudgetReport {
    private var count = 0
    private var reportedAt: Int64 = .min

    private static let intervalMilliseconds: Int64 = 60_000

    mutating func note(_ count: Int) { self.count += count }

    mutating func advance(_ diagnostics: Diagnostics, _ turn: inout Turn) {
        guard count > 0, reportedAt == .min || turn.now - reportedAt >= Self.intervalMilliseconds || turn.now < reportedAt else {
            return
        }
        diagnostics.reportOverload(
            "#", "selectors searched longer texts or arrays than an evaluation may: these tests count as unknown", count: count,
            &turn)
        count = 0
        reportedAt = turn.now
    }
}

extension Shared {
    /// What exceeded its budget since the last call was evaluated for the dataset of an account.
    @inline(__always)
    func noteExceeded(_ account: MatchAccount) {
        let count = EvaluationBudget.exceededCount
        guard count != exceededCount else { return }
        account.budgetReport.note(max(0, count &- exceededCount))
        exceededCount = count
    }
}
