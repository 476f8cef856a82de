/// When something about an entry or a pair may be due.
///
/// Deadlines are in a heap, not a timer wheel: they mostly come in growing order, so that adding costs a comparison or two, the next
/// one is known exactly, and those that are due come out by (instant, kind, number). Cancelling is the owner's: what comes out is
/// compared with the record, and the owner rebuilds when most of the heap is stale.
struct Deadline: Comparable, BitwiseCopyable {
    enum Kind: UInt32, BitwiseCopyable {
        case publication
        case subscription
        case pair

        init(_ side: Side) { self = side == .publication ? .publication : .subscription }
    }

    var instant: Int64
    var kind: Kind
    var index: UInt32

    @inline(__always)
    static func < (a: Deadline, b: Deadline) -> Bool {
        if a.instant != b.instant { return a.instant < b.instant }
        return a.kind != b.kind ? a.kind.rawValue < b.kind.rawValue : a.index < b.index
    }
}
