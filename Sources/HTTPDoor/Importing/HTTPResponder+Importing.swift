import Crypto
import Datasets
import HTTPTypes
import NIOCore
import Wire

// POST /api/{dataset}/place/import and …/dataset/import with a file of any size: it is carried out in parts, as it comes.

extension HTTPResponder {
    static let fileTypes = ["application/geo+json", "application/geo+json-seq", "application/x-ndjson"]

    /// How a file of this type is split; nil where it is the parameters of a request.
    static func form(of type: String?) -> FeatureSplitter.Form? {
        switch type {
        case "application/geo+json": .collection
        case "application/geo+json-seq": .sequence
        case "application/x-ndjson": .lines
        default: nil
        }
    }

    /// The parameter that features are imported as; nil for requests that import none.
    static func importParameter(of name: String) -> String? {
        switch name {
        case "place/import": "places"
        case "dataset/import": "structure"
        default: nil
        }
    }

    func importFile(
        _ exchange: HTTPExchange, _ form: FeatureSplitter.Form, as parameter: String, _ request: APIRequest
    ) async throws -> Routed {
        let splitter = FeatureSplitter(form, as: parameter)
        guard let key = exchange.head.fields[.idempotencyKey] else {
            let file = ImportedFile(request, ImportPart(parameter), door: door)
            return .answer(await importAll(of: exchange, splitter, file).answer)
        }
        // All of the file is one request.
        var whole = request
        whole.body = try Self.identify(Array("{}".utf8), by: key)
        let underWay = ImportKey(dataset: request.dataset, client: request.client, key: key)
        guard door.imports.withLock({ $0.insert(underWay).inserted }) else {
            throw HTTPRefusal.unavailable("a file is being imported under this `Idempotency-Key`: repeat it for the reply")
        }
        defer { door.imports.withLock { _ = $0.remove(underWay) } }
        whole.parted = .beginning
        guard let first = await door.ask(whole) else { throw Self.notAnswered }
        guard first.bytes.isEmpty else {
            // Clients send all of a file before they read.
            do { for try await _ in exchange.parts {} } catch {}
            return .reply(first)
        }
        door.written(first)
        let file = ImportedFile(request, ImportPart(parameter), key: key, door: door)
        let (answer, failure) = await importAll(of: exchange, splitter, file)
        // What sending it again may remedy is not remembered; a part is refused as a whole with `limit` where too many requests wait.
        if failure.map({ $0 != .brokenBody && ![.internal, .limit].contains($0.error.code) }) ?? true {
            whole.parted = .end(reply: answer.body, error: failure?.error.code)
            if let reply = await door.ask(whole) { door.written(reply) }
        }
        return .answer(answer)
    }

    private func importAll(
        of exchange: HTTPExchange, _ splitter: FeatureSplitter, _ file: ImportedFile
    ) async -> (answer: HTTPAnswer, failure: HTTPRefusal?) {
        var (splitter, file) = (splitter, file)
        var count = 0
        do {
            for try await bytes in exchange.parts {
                count += bytes.readableBytes
                var features: [[UInt8]] = []
                let taken = bytes.withUnsafeReadableBytes { bytes in
                    Result { () throws(WireError) in try splitter.take(bytes, into: &features) }
                }
                try await file.append(features)
                try taken.get()
            }
            guard exchange.isWhole(after: count) else { throw HTTPRefusal.brokenBody }
            try await file.append(try splitter.finish())
            // A file without features is answered by the request, too: it checks who asks.
            try await file.carryOut()
            while file.isUnderWay { try await file.takeReply() }
        } catch {
            // The file or its stream broke, or a part was refused: what came before the break is still carried out.
            await file.end()
            let failure = Self.refusal(for: error)
            var answer = failure.answer
            answer.body = file.reply(failure)
            return (answer, failure)
        }
        return (HTTPAnswer(.ok, json: file.reply()), nil)
    }

    private static func refusal(for error: any Error) -> HTTPRefusal {
        switch error {
        case let refusal as HTTPRefusal: refusal
        case let error as WireError: HTTPRefusal(error)
        default: .brokenBody
        }
    }
}

/// Names a file that is being imported.
struct ImportKey: Hashable {
    var dataset: String
    var client: String
    /// Its `Idempotency-Key`.
    var key: String
}

/// A file that is carried out in parts, several under way at a time: what comes together is made durable together.
private struct ImportedFile {
    private let request: APIRequest
    private let key: String?
    private let door: HTTPDoor
    private let parser = JSONParser()
    private var part: ImportPart
    private(set) var sums = ImportSums()
    /// Features read so far.
    private var count = 0
    private var partCount = 0
    /// Parts whose replies were not taken.
    private var underWay = 0
    private let replies: AsyncStream<PartReply>.Continuation
    private var replied: AsyncStream<PartReply>.Iterator

    private struct PartReply {
        /// nil: none came.
        var bytes: [UInt8]?
        /// Features of the file before the part.
        var before: Int
    }

    /// Parts under way, as the command-line client has them.
    private static let underWayMax = 6

    /// - Parameter key: The file's `Idempotency-Key`.
    init(_ request: APIRequest, _ part: ImportPart, key: String? = nil, door: HTTPDoor) {
        self.request = request
        self.part = part
        self.key = key
        self.door = door
        let (stream, replies) = AsyncStream<PartReply>.makeStream()
        self.replies = replies
        replied = stream.makeAsyncIterator()
    }

    var isUnderWay: Bool { underWay > 0 }

    /// One that is no JSON would spoil its whole part: those before it are kept, and nothing behind it is read.
    mutating func append(_ features: [[UInt8]]) async throws {
        for feature in features {
            try check(feature)
            if !part.hasRoom(for: feature) { try await carryOut() }
            part.append(feature)
        }
    }

    private mutating func check(_ feature: [UInt8]) throws(WireError) {
        defer { count += 1 }
        do throws(WireError) {
            try feature.withUnsafeBufferPointer { bytes throws(WireError) in
                try parser.parse(UnsafeRawBufferPointer(bytes), padded: false) { _ in }
            }
        } catch {
            var error = error
            error.message += " (feature \(count))"
            throw error
        }
    }

    /// Hands the part over, once there is room.
    mutating func carryOut() async throws {
        while underWay >= Self.underWayMax { try await takeReply() }
        var request = request
        let before = part.before
        request.body = part.take()
        if let key { request.body = try HTTPResponder.identify(request.body, by: partID(of: request.body, key)) }
        partCount += 1
        underWay += 1
        door.ask(request) { [door, replies] reply in
            if let reply { door.written(reply) }
            replies.yield(PartReply(bytes: reply?.bytes, before: before))
        }
    }

    /// The `requestId` of a part: where a file is sent again after it broke off, parts that were carried out give their first replies.
    /// What a part holds is in it, as the last one before a break holds less than the same of the whole file.
    private func partID(of body: [UInt8], _ key: String) -> String {
        var hash = SHA256()
        hash.update(data: Array("\(partCount) \(key) ".utf8))
        hash.update(data: body)
        return Base64URL.encode(Array(hash.finalize()))
    }

    /// Carries out what is left, whatever becomes of it.
    mutating func end() async {
        while isUnderWay { try? await takeReply() }
        guard !part.isEmpty else { return }
        try? await carryOut()
        try? await takeReply()
    }

    mutating func takeReply() async throws {
        underWay -= 1
        // Where the connection is gone nothing comes any more.
        guard let reply = await replied.next(), let bytes = reply.bytes else {
            throw HTTPRefusal.unavailable("a part was not answered in time, or the daemon ends: send the file again")
        }
        guard case .object(let object) = try JSONValue.parse(bytes) else { return }
        if let error = object["error"]?.asObject {
            let code = ErrorCode(rawValue: error["error"]?.asString ?? "") ?? .internal
            throw WireError(code, error["message"]?.asString ?? "", field: error["field"]?.asString)
        }
        if let result = object["result"]?.asObject { sums.add(result, behind: reply.before) }
    }

    /// The reply to all of it: where it failed, what came before is kept, and reported.
    func reply(_ failure: HTTPRefusal? = nil) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("requestId", optional: key)
            if failure == nil || key != nil { writer.member("request", request.name) }
            if let failure {
                writer.key("error")
                failure.error.encode(into: &writer, status: failure.status.code)
            }
            writer.key(failure == nil ? "result" : "partial")
            writer.value(sums.object)
        }
    }
}

/// Features that go into one request.
struct ImportPart {
    private let beginning: [UInt8]
    private var features: [UInt8] = []
    private var count = 0
    /// Features of the file that went into parts before it.
    private(set) var before = 0

    /// Far enough below what a request may have.
    private static let bytesMax = 250 << 10

    init(_ parameter: String) {
        beginning = Array("{\"\(parameter)\":{\"type\":\"FeatureCollection\",\"features\":[".utf8)
    }

    var isEmpty: Bool { features.isEmpty }

    func hasRoom(for feature: [UInt8]) -> Bool { features.isEmpty || features.count + feature.count < Self.bytesMax }

    mutating func append(_ feature: [UInt8]) {
        if !features.isEmpty { features.append(UInt8(ascii: ",")) }
        features += feature
        count += 1
    }

    mutating func take() -> [UInt8] {
        defer {
            features.removeAll(keepingCapacity: true)
            before += count
            count = 0
        }
        return beginning + features + Array("]}}".utf8)
    }
}
