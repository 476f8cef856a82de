import Records
import Wire

/// Reports why input of a dataset was refused or lost, as often as ``DiagnosticsWindow`` allows.
final class Diagnostics {
    private let dataset: String
    private var window = DiagnosticsWindow()

    init(of dataset: String) { self.dataset = dataset }

    /// Nothing was reported within the last second and nothing waits.
    var isIdle: Bool { window.isIdle }

    func report(_ diagnostic: DiagnosticsWindow.Diagnostic, _ turn: inout Turn) {
        if let diagnostic = window.report(diagnostic, at: turn.now) { send(diagnostic, &turn) }
    }

    /// Reports what was held back long enough.
    func advance(_ turn: inout Turn) {
        for diagnostic in window.end(at: turn.now) { send(diagnostic, &turn) }
    }

    private func send(_ diagnostic: DiagnosticsWindow.Diagnostic, _ turn: inout Turn) {
        let kind = diagnostic.kind.rawValue
        guard let client = diagnostic.client else {
            return turn.effects.output.append(.diagnostic(kind), name: dataset, payload: diagnostic.encode())
        }
        let recipient = Recipient(dataset, client, .diagnostics, kind)
        turn.effects.output.append(
            .notification(Notification(recipient: recipient, isAssured: false)), payload: diagnostic.encode())
    }

    // MARK: What is reported

    /// - Parameter published: The topic as it was published.
    func reportLate(_ timestamp: Int64, newest: Int64, published: UnsafeRawBufferPointer, _ turn: inout Turn) {
        report(
            .init(
                kind: .late, topic: String(decoding: published, as: UTF8.self), error: "late",
                message: "the update of \(timestamp) is older than the state of \(newest)", field: "timestamp", count: 1), &turn)
    }

    func reportSkewed(published: UnsafeRawBufferPointer, _ turn: inout Turn) {
        report(
            .init(
                kind: .skewed, topic: String(decoding: published, as: UTF8.self), error: "skewed",
                message: "the timestamp is more than 5 minutes ahead: the time of arrival was taken", field: "timestamp", count: 1
            ),
            &turn)
    }

    /// A new topic was accepted whose domain is free and spelled nearly as a known one.
    func reportNearDomain(of state: LiveState, published: UnsafeRawBufferPointer, _ turn: inout Turn) {
        guard state.payload != nil, state.dataset.record.domains == nil, let near = KnownDomain.domain(meantBy: state.domain)
        else { return }
        report(
            .init(
                kind: .hint, topic: String(decoding: published, as: UTF8.self), error: "hint",
                message: "`\(state.domain)` is a domain of its own, whose properties are not checked; did you mean `\(near)`?",
                field: "domain", count: 1), &turn)
    }

    /// A message is lost for a client, who alone hears of it.
    ///
    /// - Parameter name: Of its recipient.
    func reportLoss(_ fate: MatchFate, _ name: String, _ message: String, to client: String, _ turn: inout Turn) {
        report(
            .init(
                kind: .delivery, topic: name, error: fate.rawValue, message: message, field: nil, count: 1, client: client),
            &turn)
    }

    /// A maximum was reached so many times.
    ///
    /// - Parameter client: Whose thing the topic names; nil: nobody's.
    func reportOverload(_ topic: String, _ message: String, count: Int, to client: String? = nil, _ turn: inout Turn) {
        report(
            .init(
                kind: .overload, topic: topic, error: "limit", message: message, field: nil, count: count, client: client),
            &turn)
    }
}
