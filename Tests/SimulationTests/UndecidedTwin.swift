/// The twin while the disk has not decided on every request: what was handed to the daemon since is replayed when it does.
struct UndecidedTwin {
    fileprivate enum Event {
        case move(device: String, place: Int, timestamp: Int64, at: Int64)
        case request(id: String, ClientRequest, at: Int64)
    }

    /// Up to the first undecided request.
    private var decided = NaiveTwin()
    private var events: [Event] = []
    /// As far as it is decided.
    private(set) var twin = NaiveTwin()

    mutating func move(_ device: String, to place: Int, timestamp: Int64, at now: Int64) {
        add(.move(device: device, place: place, timestamp: timestamp, at: now))
    }

    mutating func ask(_ id: String, _ request: ClientRequest, at now: Int64) { add(.request(id: id, request, at: now)) }

    private mutating func add(_ event: Event) {
        events.append(event)
        replay()
    }

    /// - Parameter isAccepted: By `requestId`; nil: the disk has not decided.
    mutating func decide(_ isAccepted: (String) -> Bool?) {
        var left: [Event] = []
        for event in events {
            guard case .request(let id, let request, let now) = event else {
                if left.isEmpty { Self.apply(event, to: &decided) } else { left.append(event) }
                continue
            }
            switch isAccepted(id) {
            case true?:
                if left.isEmpty {
                    Self.apply(event, to: &decided)
                } else {
                    left.append(.request(id: Self.sure, request, at: now))
                }
            case false?: break
            case nil: left.append(event)
            }
        }
        events = left
        while let first = events.first, first.isSure {
            Self.apply(first, to: &decided)
            events.removeFirst()
        }
        replay()
    }

    /// The process died, and everything is decided.
    mutating func crash(at now: Int64, isDurable: (NaiveTwin.Pair) -> Bool) {
        decided.crash(at: now, isDurable: isDurable)
        replay()
    }

    /// The name of requests that are decided behind others that are not.
    static let sure = ""

    private mutating func replay() {
        twin = decided
        for event in events where event.isSure { Self.apply(event, to: &twin) }
    }

    private static func apply(_ event: Event, to twin: inout NaiveTwin) {
        switch event {
        case .move(let device, let place, let timestamp, let now):
            twin.move(device, to: place, timestamp: timestamp, at: now)
        case .request(_, let request, let now):
            request.apply(to: &twin, at: now)
            twin.evaluate(at: now)
        }
    }
}

extension UndecidedTwin.Event {
    fileprivate var isSure: Bool {
        switch self {
        case .move: true
        case .request(let id, _, _): id == UndecidedTwin.sure
        }
    }
}
