import LiveTopics

/// What CouchDB calls a document: `type:id`.
struct CouchID: Hashable, Sendable {
    var type: String
    var id: String

    init(type: String, id: String) {
        self.type = type
        self.id = id
    }

    /// nil where it names no document: without a colon, or with an underscore in front, which CouchDB keeps for itself.
    init?(_ text: String) {
        guard text.utf8.first != UInt8(ascii: "_"), let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        type = String(text[..<colon])
        id = String(text[text.utf8.index(after: colon)...])
        guard Name.isID(type), Name.isID(id) else { return nil }
    }

    var text: String { "\(type):\(id)" }

    /// A type with a colon, or an underscore in front, would be read back as another one.
    var isShown: Bool { type.utf8.first != UInt8(ascii: "_") && !type.utf8.contains(UInt8(ascii: ":")) }
}

/// A place in a feed as CouchDB's clients keep it: `N-store`, so that a place in another feed is known as such.
struct CouchSequence: Sendable {
    var number: Int64
    /// nil: the client names none.
    var store: String?

    init(_ number: Int64, of store: String) {
        self.number = number
        self.store = store
    }

    /// nil where that is no place in any feed.
    init?(_ text: String) {
        let text = text.utf8.drop { $0 == UInt8(ascii: "\"") }.prefix { $0 != UInt8(ascii: "\"") }
        let digits = text.prefix { (48...57).contains($0) }
        guard let number = digits.isEmpty ? nil : Int64(Substring(digits)) else { return nil }
        let rest = text.dropFirst(digits.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "-") else { return nil }
        self.number = number
        store = rest.isEmpty ? nil : String(Substring(rest.dropFirst()))
    }

    var text: String { store.map { "\(number)-\($0)" } ?? "\(number)" }
}
