import Selectors

// Selectors that search long texts: so much in one call of the engine, the rest in later ones.
extension EngineState {
    /// Bytes that the selectors evaluated in one call may search.
    static let searchedBytesMaximum = 4 << 20
    /// Properties of fewer bytes cost no more to search than everything else about a pair.
    private static let longBytes = 1024
    /// Pairs that may wait for a later call.
    private static let postponedMaximum = 1 << 20

    /// A pair that waits for a later call.
    struct PostponedPair {
        var subscription: UInt32
        var publication: UInt32
        /// Only its first meeting counts.
        var sparesKnown: Bool
    }

    /// What an evaluation may cost at most, in bytes; 0: next to nothing.
    @inline(__always)
    func searchCost(_ searches: Int, _ publication: UInt32) -> Int {
        guard searches > 0 else { return 0 }
        let bytes = properties.base[Int(publication)].bytes
        return bytes < Self.longBytes ? 0 : min(EvaluationBudget.units, bytes * searches)
    }

    /// Whether a pair has to wait for a later call, where what it costs is not left.
    mutating func postpones(_ subscription: UInt32, _ publication: UInt32, cost: Int, sparesKnown: Bool) -> Bool {
        guard cost > searchLeft else {
            searchLeft -= cost
            return false
        }
        if sparesKnown, index.find(subscription, publication) != nil { return true }
        guard postponed.count - postponedFirst < Self.postponedMaximum else {
            EvaluationBudget.noteExceeded()
            return true
        }
        postponed.append(PostponedPair(subscription: subscription, publication: publication, sparesKnown: sparesKnown))
        return true
    }

    var hasPostponed: Bool { postponedFirst < postponed.count }

    /// Evaluates pairs that wait, as far as a call allows. One of which a side ended meanwhile stays unknown.
    mutating func evaluatePostponed(at now: Int64) {
        guard hasPostponed else { return }
        while hasPostponed {
            let pair = postponed[postponedFirst]
            guard areAlive(pair.subscription, pair.publication) else {
                postponedFirst += 1
                EvaluationBudget.noteExceeded()
                continue
            }
            let program = subscriptions[pair.subscription].program
            let cost = searchCost(programs.searches(program), pair.publication)
            guard cost <= searchLeft else { break }
            searchLeft -= cost
            postponedFirst += 1
            evaluate(pair, at: now)
        }
        if !hasPostponed {
            postponed.removeAll()
            postponedFirst = 0
        } else if postponedFirst > postponed.count / 2 {
            postponed.removeFirst(postponedFirst)
            postponedFirst = 0
        }
    }

    private func areAlive(_ subscription: UInt32, _ publication: UInt32) -> Bool {
        Int(subscription) < subscriptions.used && subscriptions[subscription].isAlive && Int(publication) < publications.used
            && publications[publication].isAlive
    }

    /// Numbers may belong to others by now, for which the same holds: who is in range and was not evaluated is.
    private mutating func evaluate(_ pair: PostponedPair, at now: Int64) {
        let (subscription, publication) = (pair.subscription, pair.publication)
        let (wanted, offered) = (subscriptions[subscription], publications[publication])
        guard now < wanted.expiresAt, now < offered.expiresAt, haveEqualTopics(wanted, offered),
            wanted.device != offered.device || !wanted.excludesSelf, isInReach(wanted, offered)
        else { return }
        if programs.evaluate(wanted.program, UnsafePointer(properties.base + Int(publication))) {
            meet(subscription, publication, at: now, sparesKnown: pair.sparesKnown)
        } else if wanted.hintsLeft > 0, index.find(subscription, publication) == nil {
            doubts.append(UInt64(subscription) << 32 | UInt64(publication))
        }
    }
}
