/// How an entry is matched beside its topic and circle, and whether it is there at all. Only a subscription has more than that.
struct Conduct: OptionSet, BitwiseCopyable {
    let rawValue: UInt8

    static let alive = Conduct(rawValue: 1)
    static let visit = Conduct(rawValue: 2)
    static let possible = Conduct(rawValue: 4)
    static let certain = Conduct(rawValue: 8)
    static let sameFloor = Conduct(rawValue: 16)
    /// More than the two points and ranges decides what is in range.
    static let careful: Conduct = [.possible, .certain, .sameFloor]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ terms: Terms) {
        self = terms.mode == .visit ? .visit : []
        switch terms.accuracy {
        case .centre: break
        case .possible: insert(.possible)
        case .certain: insert(.certain)
        }
        if terms.sameFloor { insert(.sameFloor) }
    }
}

extension Entry {
    @inline(__always)
    var isAlive: Bool {
        get { conduct.contains(.alive) }
        set { if newValue { conduct.insert(.alive) } else { conduct.remove(.alive) } }
    }

    @inline(__always)
    var isVisit: Bool { conduct.contains(.visit) }

    @inline(__always)
    var isCareful: Bool { !conduct.isDisjoint(with: .careful) }

    /// Milliseconds in range before a visit begins; of a subscription of mode visit, which has no `matchTTL`.
    @inline(__always)
    var dwell: Int64 { matchTTL }

    /// Metres beyond reach at which a visit ends; of a subscription of mode visit, which has no `matchDTL`.
    @inline(__always)
    var exitMargin: Double { Double(matchDTL) }
}

extension Entry {
    /// Of a publication, which has no program: the first of its pairs of mode once. All of them come after those of visits.
    @inline(__always)
    var firstOncePair: UInt32 {
        get { program }
        set { program = newValue }
    }

    /// Of a publication, which has no `matchDTL`: a bit for each value its properties carry.
    @inline(__always)
    var signature: UInt32 {
        get { matchDTL.bitPattern }
        set { matchDTL = Float(bitPattern: newValue) }
    }

    /// Of a publication, which has no `matchTTL`: how many pairs of mode once it has.
    @inline(__always)
    var oncePairs: Int64 {
        get { matchTTL }
        set { matchTTL = newValue }
    }
}

/// The terms of a subscription as its records hold them; of a publication only that it is alive.
struct Rule {
    var matchTTL: Int64 = 0
    var matchDTL = 0.0
    var staleAfter = Int64.max
    var excludesSelf = false
    var conduct: Conduct = []

    init() {}

    init(_ terms: Terms) {
        let isVisit = terms.mode == .visit
        matchTTL = max(0, isVisit ? terms.dwell : terms.matchTTL)
        let metres = isVisit ? terms.exitMargin : terms.matchDTL
        matchDTL = metres >= 0 ? metres : 0
        staleAfter = max(1, terms.staleAfter)
        excludesSelf = terms.excludesSelf
        conduct = Conduct(terms)
    }

    func write(to side: Side, _ entry: UnsafeMutablePointer<Entry>) {
        entry.pointee.conduct = conduct.union(.alive)
        guard side == .subscription else { return }
        entry.pointee.matchTTL = matchTTL
        entry.pointee.matchDTL = Float(matchDTL)
        entry.pointee.traits = entry.pointee.traits & 0x7F | (excludesSelf ? 0x80 : 0)
    }
}
