import Wire

/// Why input was refused, told at most once a second for each source topic and a hundred times a second for the dataset.
///
/// A flood must not become a flood of diagnostics; nothing is hidden either: what is not told at once is counted and
/// told when the second ends.
struct DiagnosticsWindow {
    /// The level below `diagnostics`.
    enum Kind: String {
        /// The update was refused.
        case update
        /// The update was older than the state it would have replaced.
        case late
        /// The update's time was ahead of ours and became the time of arrival.
        case skewed
    }

    struct Diagnostic: Equatable {
        var kind: Kind
        /// As published; `#` for the sum of those that exceeded the bound.
        var topic: String
        /// One of the error names of the contract, or the kind where nothing was refused.
        var error: String
        var message: String
        var field: String?
        var count: Int
    }

    static let lengthMilliseconds: Int64 = 1000
    static let toldMaximum = 100

    private var endsAt: Int64 = .max
    private var told = 0
    /// By kind and topic, in the order they came up: those told in this window, with what came since.
    private var order: [String] = []
    private var waiting: [String: Diagnostic] = [:]
    private var excess: Diagnostic?

    /// Nothing was told in this window and nothing waits.
    var isIdle: Bool { endsAt == .max }

    /// Takes a refusal in; the result is to be told now.
    mutating func report(_ diagnostic: Diagnostic, at now: Int64) -> Diagnostic? {
        if isIdle { endsAt = now + Self.lengthMilliseconds }
        let key = "\(diagnostic.kind.rawValue) \(diagnostic.topic)"
        if let count = waiting[key]?.count {
            waiting[key] = diagnostic
            waiting[key]?.count = count + 1
            return nil
        }
        guard told < Self.toldMaximum else {
            let count = (excess?.count ?? 0) + 1
            excess = diagnostic
            excess?.topic = "#"
            excess?.count = count
            return nil
        }
        told += 1
        order.append(key)
        waiting[key] = diagnostic
        waiting[key]?.count = 0
        return diagnostic
    }

    /// Ends the second when it is over and gives what is still to be told of it.
    mutating func end(at now: Int64) -> [Diagnostic] {
        guard now >= endsAt else { return [] }
        var rest: [Diagnostic] = []
        var next = DiagnosticsWindow()
        for key in order {
            guard let diagnostic = waiting[key], diagnostic.count > 0 else { continue }
            rest.append(diagnostic)
            next.order.append(key)
            next.waiting[key] = diagnostic
            next.waiting[key]?.count = 0
        }
        if let excess { rest.append(excess) }
        next.told = rest.count
        if !rest.isEmpty { next.endsAt = now + Self.lengthMilliseconds }
        self = next
        return rest
    }
}

extension DiagnosticsWindow.Diagnostic {
    /// A refusal of a live update.
    init(topic: String, refused error: WireError) {
        self.init(
            kind: .update, topic: topic, error: error.code.rawValue, message: error.message, field: error.field, count: 1)
    }

    func encode() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("topic", topic)
        writer.member("error", error)
        writer.member("message", message)
        writer.member("field", optional: field)
        writer.member("count", count)
        writer.endObject()
        return writer.bytes
    }
}
