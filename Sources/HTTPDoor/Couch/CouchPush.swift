import Wire

/// Documents on their way into the core, as many at once as a request takes.
struct CouchPush {
    /// What became of a document.
    struct Fate {
        var id: String
        /// nil where that is not known.
        var revision: String?
        var refusal: CouchRefusal?
    }

    private let database: CouchDatabase
    private let isReplicated: Bool
    private let parser = JSONParser()
    private var edits: [CouchEdit] = []
    private var documents: [UInt8] = []
    private var histories: [UInt8] = []
    private(set) var fates: [Fate] = []
    /// Where the fates of what waits go.
    private var places: [Int] = []

    /// Far enough below what a request may have.
    private static let requestBytesMax = 250 << 10
    private static let documentBytesMax = 200 << 10
    private static let documentsMax = 500
    /// Of a long history where it does not fit beside the document.
    private static let historyMin = 20

    init(_ database: CouchDatabase, isReplicated: Bool) {
        self.database = database
        self.isReplicated = isReplicated
    }

    /// Adds a document as it was sent.
    mutating func add(_ bytes: ArraySlice<UInt8>) async throws {
        var id = ""
        do {
            guard bytes.count <= Self.sentBytesMax else {
                id = Self.id(of: bytes)
                throw Self.tooLarge
            }
            guard let object = try bytes.withUnsafeBytes({ try JSONValue.parse($0, using: parser) }).asObject else {
                throw CouchRefusal.badRequest("each of `docs` must be an object")
            }
            id = object["_id"]?.asString ?? ""
            if id.hasPrefix(CouchDatabase.localPrefix) {
                return try await keepLocal(id, object)
            }
            try await add(try CouchEdit(object, isReplicated: isReplicated))
        } catch let refusal as CouchRefusal {
            fates.append(Fate(id: id, revision: nil, refusal: refusal))
        } catch let error as JSONError where [.string, .number, .tooDeep].contains(error) {
            // A half surrogate or a hundred levels: the others are not to suffer from it.
            fates.append(Fate(id: Self.id(of: bytes), revision: nil, refusal: CouchRefusal(WireError(error))))
        }
    }

    /// Writes a `_local` document, as PouchDB 5 keeps its checkpoints, behind the documents before it.
    private mutating func keepLocal(_ id: String, _ document: JSONObject) async throws {
        try await flush()
        var fate = Fate(id: id)
        do {
            fate.revision = try await database.putLocal(String(id.dropFirst(CouchDatabase.localPrefix.count)), document)
        } catch let error as WireError where error.code != .internal {
            fate.refusal = CouchRefusal(error)
        }
        fates.append(fate)
    }

    /// More cannot be parsed.
    private static let sentBytesMax = 1 << 20

    private static let tooLarge = CouchRefusal(.contentTooLarge, "too_large", "a document has at most 192 KiB")

    /// The `_id` of a document that is too long to be read.
    private static func id(of bytes: ArraySlice<UInt8>) -> String {
        let bytes = Array(bytes)
        var scanner = JSONScanner(bytes)
        var id = ""
        try? scanner.object { scanner, name throws(WireError) in
            let value = try scanner.value()
            if name == "_id", case .string(let text)? = try? JSONValue.parse(Array(bytes[value].prefix(4096))) { id = text }
        }
        return id
    }

    mutating func add(_ edit: CouchEdit) async throws {
        var writer = JSONWriter()
        edit.write(asEdit: !isReplicated, into: &writer)
        guard writer.bytes.count <= Self.documentBytesMax else {
            fates.append(Fate(id: edit.id.text, revision: edit.revision, refusal: Self.tooLarge))
            return
        }
        var history = Self.encode(edit.history)
        if writer.bytes.count + history.count > Self.requestBytesMax {
            history = Self.encode(Array(edit.history.prefix(Self.historyMin)))
        }
        if documents.count + histories.count + writer.bytes.count + history.count > Self.requestBytesMax
            || edits.count == Self.documentsMax
        {
            try await flush()
        }
        if !edits.isEmpty {
            documents.append(UInt8(ascii: ","))
            histories.append(UInt8(ascii: ","))
        }
        documents += writer.bytes
        histories += history
        edits.append(edit)
        places.append(fates.count)
        fates.append(Fate(id: edit.id.text, revision: edit.revision))
    }

    private static func encode(_ history: [String]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for revision in history { writer.string(revision) }
        writer.endArray()
        return writer.bytes
    }

    /// Writes what waits.
    mutating func flush() async throws {
        guard !edits.isEmpty else { return }
        let (documents, histories, isReplicated) = (documents, histories, isReplicated)
        defer {
            edits.removeAll()
            places.removeAll()
            self.documents.removeAll(keepingCapacity: true)
            self.histories.removeAll(keepingCapacity: true)
        }
        do {
            let result = try await database.ask("changes/push") { writer in
                writer.key("docs")
                writer.raw([UInt8(ascii: "[")] + documents + [UInt8(ascii: "]")])
                if isReplicated {
                    writer.key("histories")
                    writer.raw([UInt8(ascii: "[")] + histories + [UInt8(ascii: "]")])
                } else {
                    writer.member("edits", true)
                }
            }
            for (place, value) in zip(places, result["results"]?.asArray ?? []) { take(value, at: place) }
        } catch let error as WireError where error.code == .invalid && edits.count > 1 {
            // One of them is none at all: the others are not to suffer from it.
            try await flushEach()
        } catch let error as WireError where error.code == .invalid {
            fates[places[0]].refusal = CouchRefusal(error)
        }
    }

    private mutating func flushEach() async throws {
        let (edits, places) = (edits, places)
        for (edit, place) in zip(edits, places) {
            var alone = CouchPush(database, isReplicated: isReplicated)
            try await alone.add(edit)
            try await alone.flush()
            if let fate = alone.fates.first { fates[place] = fate }
        }
    }

    private mutating func take(_ value: JSONValue, at place: Int) {
        guard let result = value.asObject else { return }
        fates[place].revision = result["revision"]?.asString
        guard let error = result["error"]?.asObject else { return }
        let refusal = CouchRefusal(WireError(reply: error))
        // What the checks refuse, CouchDB's own checks would forbid.
        fates[place].refusal = refusal.name == "bad_request" ? .forbidden(refusal.reason) : refusal
    }
}
