/// What a push must know of a document before it is decided.
public struct DocumentLookup: Equatable, Sendable {
    public var dataset: String
    public var type: String
    public var id: String
    /// Which revisions it is asked for whether they are ancestors.
    public var revisions: [String]
    /// Of a page of its conflicts: the revision that it begins behind.
    public var after: String?

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

    public init(owner: String?, reader: String?, history: DocumentHistory) {
        self.owner = owner
        self.reader = reader
        self.history = history
    }
}
