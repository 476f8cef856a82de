/// How an entry is matched beside its topic and circle, and whether it is there at all. Only a subscription has more than that.
struct EntryFlags: OptionSet, BitwiseCopyable {
    let rawValue: UInt8

    static let alive = EntryFlags(rawValue: 1)
    static let visit = EntryFlags(rawValue: 2)
    static let possible = EntryFlags(rawValue: 4)
    static let certain = EntryFlags(rawValue: 8)
    static let sameFloor = EntryFlags(rawValue: 16)
    static let likely = EntryFlags(rawValue: 32)
    /// More than the two points and ranges decides what is in range.
    static let accuracyAware: EntryFlags = [.possible, .certain, .likely, .sameFloor]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ options: MatchOptions) {
        self = options.mode == .visit ? .visit : []
        switch options.accuracy {
        case .centre: break
        case .possible: insert(.possible)
        case .certain: insert(.certain)
        case .likely: insert(.likely)
        }
        if options.sameFloor { insert(.sameFloor) }
    }
}

/// The options of a subscription as its records hold them; of a publication only that it is alive.
struct Rule {
    var flags: EntryFlags = []
    var excludesSelf = false
    var matchTTL: Int64 = 0
    var matchDTL: Float = 0
    /// Of mode visit.
    var visit: VisitOptions?

    init() {}

    init(_ options: MatchOptions) {
        flags = EntryFlags(options)
        excludesSelf = options.excludesSelf
        guard options.mode == .visit else {
            matchTTL = max(0, options.matchTTL)
            matchDTL = options.matchDTL >= 0 ? Float(options.matchDTL) : 0
            return
        }
        visit = VisitOptions(
            dwell: max(0, options.dwell), staleAfter: max(1, options.staleAfter),
            exitMargin: options.exitMargin >= 0 ? options.exitMargin : 0)
    }
}
