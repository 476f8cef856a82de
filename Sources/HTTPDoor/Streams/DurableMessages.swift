import DequeModule

/// Whose messages they are.
struct StreamKey: Hashable, Sendable {
    var dataset: String
    var client: String
}

/// The durable messages of the last hour, by client, to be sent again to who resumes.
///
/// A cursor is the number of a match or an event, which rises over restarts.
struct DurableMessages {
    private struct Entry {
        var number: Int64
        var at: Int64
        var message: StreamMessage
    }

    private struct Client {
        var entries = Deque<Entry>()
        /// What is up to here may be gone.
        var goneThrough: Int64
        var lastNumber: Int64
        var bytes = 0

        /// Clients of one class have up to twice as much as each other.
        var sizeClass: Int { Int.bitWidth - bytes.leadingZeroBitCount }

        mutating func forgetFirst() {
            let first = entries.removeFirst()
            // One that was sent again may be of before all that is known here.
            goneThrough = max(goneThrough, first.number)
            bytes -= DurableMessages.cost(first.message)
        }

        mutating func forget(_ messages: ForgottenMessages) {
            var (through, freed) = (goneThrough, 0)
            entries.removeAll { entry in
                guard messages.include(entry.message.payload) else { return false }
                through = max(through, entry.number)
                freed += DurableMessages.cost(entry.message)
                return true
            }
            (goneThrough, bytes) = (through, bytes - freed)
        }
    }

    static let lifetimeMilliseconds: Int64 = 3_600_000
    static let countMax = 10_000
    /// Of all clients.
    private let bytesMax: Int
    private var clients: [StreamKey: Client] = [:]
    /// Up to where messages of clients are gone none of whose messages is left.
    private var quiet: LastNumbers
    /// Who has how much, see ``Client/sizeClass``.
    private var sizeClasses = [Set<StreamKey>](repeating: [], count: Int.bitWidth + 1)
    private(set) var bytes = 0
    /// Up to here messages of clients that are not known here may be gone.
    private var startedAfter: Int64
    /// The highest there is.
    private(set) var lastNumber: Int64 = 0
    private var sweepAt: Int64 = 0

    init(startedAfter: Int64, bytesMax: Int = 128 << 20, quiet: LastNumbers = LastNumbers()) {
        self.startedAfter = startedAfter
        self.bytesMax = bytesMax
        self.quiet = quiet
    }

    /// With what a file has of former lives; where it has nothing, that is a gap.
    init(_ contents: MessageFile.Contents, startedAfter: Int64, at now: Int64) {
        self.init(startedAfter: min(contents.after ?? startedAfter, startedAfter))
        if contents.after != nil {
            for (key, number) in contents.lost { becomeQuiet(key, after: min(number, startedAfter)) }
        }
        for stored in contents.messages {
            // A number that this life may give again is not what it was.
            guard stored.number <= startedAfter else { continue }
            _ = append(stored.path, stored.payload, number: stored.number, for: stored.key, at: stored.at)
        }
        lastNumber = startedAfter
        sweep(at: now)
    }

    /// Takes a message in.
    ///
    /// - Returns: false where it came before, and is sent again to who did not acknowledge it.
    mutating func append(_ path: String, _ payload: [UInt8], number: Int64, for key: StreamKey, at now: Int64) -> Bool {
        guard number > clients[key]?.lastNumber ?? 0 else { return false }
        let message = StreamMessage(path: path, payload: payload, cursor: number)
        lastNumber = max(lastNumber, number)
        change(key) { client in
            client.lastNumber = number
            client.entries.append(Entry(number: number, at: now, message: message))
            client.bytes += Self.cost(message)
            Self.forgetOld(&client, at: now)
        }
        // The client that has most loses its oldest.
        while bytes > bytesMax, let largest = sizeClasses.last(where: { !$0.isEmpty })?.first {
            change(largest) { $0.forgetFirst() }
        }
        return true
    }

    private mutating func change(_ key: StreamKey, _ body: (inout Client) -> Void) {
        var client = clients.removeValue(forKey: key) ?? newClient(key)
        let (former, formerClass) = (client.bytes, client.sizeClass)
        body(&client)
        bytes += client.bytes - former
        if client.sizeClass != formerClass || former == 0 {
            sizeClasses[formerClass].remove(key)
            sizeClasses[client.sizeClass].insert(key)
        }
        clients[key] = client
    }

    private mutating func newClient(_ key: StreamKey) -> Client {
        Client(goneThrough: quiet.remove(key) ?? startedAfter, lastNumber: 0)
    }

    /// Of more clients than are kept a gap is reported that may be none.
    private mutating func becomeQuiet(_ key: StreamKey, after number: Int64) {
        guard let dropped = quiet.note(number, of: key) else { return }
        startedAfter = max(startedAfter, dropped)
    }

    private static func forgetOld(_ client: inout Client, at now: Int64) {
        while let first = client.entries.first, now - first.at >= lifetimeMilliseconds || client.entries.count > countMax {
            client.forgetFirst()
        }
    }

    /// Forgets what clients of a dataset could be sent again: a client that resumes is notified of a gap.
    mutating func forget(_ messages: ForgottenMessages) {
        for key in clients.keys where key.dataset == messages.dataset { change(key) { $0.forget(messages) } }
    }

    /// What came after a cursor, and whether some of that is gone.
    func messages(after cursor: Int64, for key: StreamKey) -> (isGap: Bool, messages: [StreamMessage]) {
        guard let client = clients[key] else { return (cursor < quiet[key] ?? startedAfter, []) }
        return (cursor < client.goneThrough, client.entries.filter { $0.number > cursor }.map(\.message))
    }

    /// Forgets what is old, now and then.
    mutating func advance(to now: Int64) {
        guard now >= sweepAt || now < sweepAt - 60_000 else { return }
        sweep(at: now)
    }

    private mutating func sweep(at now: Int64) {
        sweepAt = now + 60_000
        for key in Array(clients.keys) {
            change(key) { Self.forgetOld(&$0, at: now) }
            guard let client = clients[key], client.entries.isEmpty else { continue }
            sizeClasses[client.sizeClass].remove(key)
            clients[key] = nil
            becomeQuiet(key, after: client.goneThrough)
        }
    }

    private static func cost(_ message: StreamMessage) -> Int { message.payload.count + message.path.utf8.count + 160 }
}
