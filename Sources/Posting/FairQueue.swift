import DequeModule

/// Work for several origins, which take turns; so many run at once, in all and for each.
package struct FairQueue<Work> {
    private struct Line {
        var waiting = Deque<Work>()
        var running = 0
        /// It is in `turns`: something waits and may run.
        var isInTurn = false
    }

    private let runningMaximum: Int
    private let perOrigin: Int
    private var lines: [String: Line] = [:]
    private var turns = Deque<String>()
    /// How many wait.
    package private(set) var count = 0
    /// How many were handed out and have not finished.
    package private(set) var running = 0

    package init(runningMaximum: Int = .max, perOrigin: Int = .max) {
        self.runningMaximum = runningMaximum
        self.perOrigin = perOrigin
    }

    package mutating func append(_ work: Work, origin: String) {
        lines[origin, default: Line()].waiting.append(work)
        count += 1
        takeTurn(origin)
    }

    /// The next that may run, whose end must be reported with ``finished(origin:)``.
    package mutating func next() -> Work? {
        guard running < runningMaximum, let origin = turns.popFirst() else { return nil }
        lines[origin]?.isInTurn = false
        guard let work = lines[origin]?.waiting.popFirst() else { return nil }
        lines[origin]?.running += 1
        running += 1
        count -= 1
        takeTurn(origin)
        return work
    }

    package mutating func finished(origin: String) {
        guard let line = lines[origin], line.running > 0 else { return }
        running -= 1
        if line.running == 1, line.waiting.isEmpty {
            lines[origin] = nil
        } else {
            lines[origin]?.running -= 1
            takeTurn(origin)
        }
    }

    private mutating func takeTurn(_ origin: String) {
        guard let line = lines[origin], !line.isInTurn, !line.waiting.isEmpty, line.running < perOrigin else { return }
        lines[origin]?.isInTurn = true
        turns.append(origin)
    }
}
