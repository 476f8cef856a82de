/// What a push must know of a document before it is decided.
public struct DocumentLookup: Equatable, Sendable {
    public var dataset: String
    public var type: String
    public var id: String
    /// Which revisions it is asked for whether they are ancestors; where contents are read, those of these leaves only, if any.
    public var revisions: [String]
    /// Of a page of its conflicts: the revision that it begins behind.
    public var after: String?
    /// Which revision was made from which is wanted, too.
    public var wantsLinks = false
    /// What is read of its leaves; nil: what a push or a list of conflicts needs.
    public var reading: Reading?

    public enum Reading: Sendable {
        case leaves
        /// Also what they say, where no object of ours has it, as far as there is room for it.
        case contents
    }

    public init(dataset: String, type: String, id: String, revisions: [String], after: String? = nil) {
        self.dataset = dataset
        self.type = type
        self.id = id
        self.revisions = revisions
        self.after = after
    }
}

/// What the store knows of a document.
public struct KnownDocument: Equatable, Sendable {
    public var owner: String?
    /// Who may read it beside administrators; nil for everybody.
    public var reader: String?
    /// Those ancestors that were asked for; with the content of what lost, but not where a push asks for a document that is not ours.
    public var history: DocumentHistory
    /// Its place in the feed.
    public var seq: Int64

    public init(owner: String?, reader: String?, history: DocumentHistory, seq: Int64 = 0) {
        self.owner = owner
        self.reader = reader
        self.history = history
        self.seq = seq
    }
}

/// How much of what documents say one answer of a store holds: who reads more asks again.
package struct ContentBudget {
    private var bytesLeft = 1 << 20

    package init() {}

    /// Adds something, be it too much for what is left.
    ///
    /// - Returns: false where nothing is left.
    package mutating func add(_ bytes: Int) -> Bool {
        guard bytesLeft > 0 else { return false }
        bytesLeft -= bytes
        return true
    }
}
