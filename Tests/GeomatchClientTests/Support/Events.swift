import Testing

@testable import GeomatchClient
@testable import Records

extension BufferedSequence where Failure == Never {
    /// The next element for which `is` holds; those before it are passed over.
    func first(_ holds: (Element) -> Bool) async -> Element? {
        while let element = await mailbox.next() { if holds(element) { return element } }
        return nil
    }

    func next() async -> Element? { await mailbox.next() }
}

extension BufferedSequence where Failure == GeomatchError {
    func next() async throws -> Element? { try await mailbox.next() }
}

/// What an event is, in one line, for comparing sequences of them.
func line(_ event: LiveDataEvent) -> String {
    switch event {
    case .received(let update): "received \(update.itemID)\(update.hasLeft ? " left" : "")"
    case .stateChanged(let state): "\(state)"
    case .subscribed: "subscribed"
    case .unsubscribed: "unsubscribed"
    case .subscriptionFailed(_, let error): "subscription failed: \(error.kind.rawValue)"
    case .unsubscriptionFailed(_, let error): "unsubscription failed: \(error.kind.rawValue)"
    case .failed(let error): "failed: \(error.kind.rawValue)"
    }
}

/// The lines of the next events, as many as there are in `expected`.
func lines(_ events: BufferedSequence<LiveDataEvent, Never>, count: Int) async -> [String] {
    var lines: [String] = []
    while lines.count < count, let event = await events.next() { lines.append(line(event)) }
    return lines
}

/// The error `body` throws; records an issue where it throws none.
func failure<Value>(_ body: () async throws(GeomatchError) -> Value) async -> GeomatchError? {
    do throws(GeomatchError) {
        _ = try await body()
        Issue.record("nothing was thrown")
        return nil
    } catch {
        return error
    }
}

extension PropertyValue {
    /// With every number a double.
    var numbers: PropertyValue {
        switch self {
        case .integer(let value): .number(Double(value))
        case .array(let elements): .array(elements.map(\.numbers))
        case .object(let members): .object(members.mapValues(\.numbers))
        default: self
        }
    }
}
