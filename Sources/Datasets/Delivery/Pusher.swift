import LiveTopics
import Wire
import Records

/// Where a match goes, beside the recipient of every match of its subscription.
enum Pusher {
    /// `ws`, `localhost`, and the recipient of every match by its name.
    case match
    /// Something else that is the owner's.
    case path(Recipient)
    case webhook(WebhookURL)
    case push(PushTarget)
    /// The `deviceToken` of the device that a message is about, as that is then.
    case device(PushKind)

    /// At most so many for one subscription.
    static let countMaximum = 16
    /// Bytes of a topic at most, with the owner's tree.
    static let topicMaximum = 1024

    /// Reads what a client wrote.
    ///
    /// `mqtt:` is followed by the topic below the owner's tree, or by a full topic that lies there.
    ///
    /// - Parameter recipient: Of every match of the subscription.
    /// - Throws: `invalid`, with the field `pushers`.
    init(_ text: String, of recipient: Recipient, naming: Naming) throws(WireError) {
        if text == "ws" || text == "localhost" {
            self = .match
            return
        }
        if text.utf8.first == UInt8(ascii: "{"), let object = (try? JSONValue.parse(text))?.asObject {
            self = .push(.web(try WebPushSubscription(object)))
            return
        }
        let scheme = text.prefix { $0 != ":" }.lowercased()
        let tree = naming.tree(recipient.dataset, recipient.client)
        switch scheme {
        case "mqtt":
            let path = try Self.path(Substring(text.utf8.dropFirst("mqtt:".utf8.count)), in: tree, root: naming.root)
            self =
                path.hasSameBytes(as: recipient.path)
                ? .match : .path(Recipient(recipient.dataset, recipient.client, path: path))
        case "http", "https":
            self = .webhook(try WebhookURL(text, field: "pushers"))
        case "apns": self = try Self.token(.apns, text)
        case "fcm": self = try Self.token(.fcm, text)
        default:
            throw WireError(
                .invalid,
                "a pusher is `mqtt:<topic below \(tree)>`, `http://…`, `https://…`, `apns://TOKEN`, `fcm://TOKEN`, {\"webpush\":…}, `ws` or `localhost`, not \"\(text.prefix(40))\"",
                field: "pushers")
        }
    }

    /// `apns://TOKEN`; without a token it is the device's.
    private static func token(_ kind: PushKind, _ text: String) throws(WireError) -> Pusher {
        let token = text.dropFirst(kind.rawValue.count)
        guard token.hasPrefix("://") else {
            throw WireError(
                .invalid, "a pusher of this kind is `\(kind.rawValue)://TOKEN`, or `\(kind.rawValue)://` for the device's token",
                field: "pushers")
        }
        if token.utf8.count == 3 { return .device(kind) }
        guard let target = PushTarget(kind, token: token.dropFirst(3)) else {
            let allowed =
                kind == .apns ? "1 to 256 letters, digits, - and _" : "1 to 4096 printable characters without spaces"
            throw WireError(.invalid, "the token of an `\(kind.rawValue)://` pusher has \(allowed)", field: "pushers")
        }
        return .push(target)
    }

    private static func path(_ text: Substring, in tree: String, root: String) throws(WireError) -> String {
        func refuse(_ rule: String) -> WireError {
            WireError(.invalid, "the topic of an `mqtt:` pusher \(rule), not \"\(text.prefix(80))\"", field: "pushers")
        }
        let isFull = text.utf8.starts(with: tree.utf8)
        guard isFull || !text.utf8.starts(with: root.utf8) else { throw refuse("lies below \(tree)") }
        let below = isFull ? text.utf8.dropFirst(tree.utf8.count) : text.utf8[...]
        guard tree.utf8.count + below.count <= topicMaximum else {
            throw WireError(
                .invalid, "the topic of an `mqtt:` pusher has at most \(topicMaximum) bytes with \(tree)", field: "pushers")
        }
        let levels = below.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard levels.allSatisfy({ !$0.isEmpty }) else { throw refuse("has no empty level") }
        guard let first = levels.first, !first.elementsEqual("request".utf8) else { throw refuse("is not `request` or below it") }
        let name = String(Substring(below))
        guard LevelCoding.isPath(name) else {
            throw refuse("has no wildcards, control characters or noncharacters")
        }
        return name
    }
}

extension [Pusher] {
    /// Reads a list, in order, what means the recipient of every match left out.
    ///
    /// - Throws: also where two entries name the same.
    init(reading texts: [String], of recipient: Recipient, naming: Naming) throws(WireError) {
        self = []
        for (index, text) in texts.enumerated() {
            let pusher = try Pusher(text, of: recipient, naming: naming)
            let isRepeated = texts[..<index].contains { $0.hasSameBytes(as: text) } || contains { $0.isSame(as: pusher) }
            guard !isRepeated else {
                throw WireError(.invalid, "`pushers` names \"\(text.prefix(80))\" twice", field: "pushers")
            }
            if case .match = pusher { continue }
            append(pusher)
        }
    }
}

extension Pusher {
    /// The same place, however it is spelled.
    func isSame(as other: Pusher) -> Bool {
        switch (self, other) {
        case (.path(let left), .path(let right)): left.path.hasSameBytes(as: right.path)
        case (.webhook(let left), .webhook(let right)): left.normalized == right.normalized
        case (.push(let left), .push(let right)): left == right
        case (.device(let left), .device(let right)): left == right
        default: false
        }
    }

    /// As it is stored and read again.
    func text(_ naming: Naming) -> String {
        switch self {
        case .match: "ws"
        case .path(let recipient): "mqtt:\(naming.name(of: recipient))"
        case .webhook(let url): url.text
        case .push(let target): target.text
        case .device(let kind): "\(kind.rawValue)://"
        }
    }

    /// For reasons that others read too: without path and query, which may hold what only the owner knows.
    var shown: String {
        switch self {
        case .match: "the match topic"
        case .path: "an `mqtt:` pusher"
        case .webhook(let url): url.origin
        case .push(let target): target.shown
        case .device(let kind): "an `\(kind.rawValue)://` pusher"
        }
    }
}
