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
        var splitter = FeatureSplitter(form)
        var file = ImportedFile(request, part: ImportPart(parameter), door: door)
        do {
            for try await bytes in exchange.parts {
                var features: [[UInt8]] = []
                let taken = bytes.withUnsafeReadableBytes { bytes in
                    Result { () throws(WireError) in try splitter.take(bytes, into: &features) }
                }
                try await file.append(features)
                try taken.get()
            }
            try await file.append(try splitter.finish())
            // A file without features is answered by the request, too: it checks who asks.
            try await file.carryOut()
            while file.isUnderWay { try await file.takeReply() }
        } catch {
            // The file or its stream broke, or a part was refused: what came before the break is still carried out.
            await file.end()
            return .answer(Self.broken(Self.refusal(for: error), file.sums))
        }
        let reply: JSONValue = ["request": .string(request.name), "result": file.sums.object]
        return .answer(HTTPAnswer(.ok, json: reply.serialised()))
    }

    private static func refusal(for error: any Error) -> HTTPRefusal {
        switch error {
        case let refusal as HTTPRefusal: refusal
        case let error as WireError: HTTPRefusal(error)
        default: .brokenBody
        }
    }

    /// What came before is kept, and reported.
    private static func broken(_ refusal: HTTPRefusal, _ sums: ImportSums) -> HTTPAnswer {
        var answer = refusal.answer
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("error")
        refusal.error.encode(into: &writer, status: refusal.status.code)
        writer.key("partial")
        writer.value(sums.object)
        writer.endObject()
        answer.body = writer.bytes
        return answer
    }
}

/// A file that is carried out in parts, several under way at a time: what comes together is made durable together.
private struct ImportedFile {
    private let request: APIRequest
    private let door: HTTPDoor
    private let parser = JSONParser()
    private var part: ImportPart
    private(set) var sums = ImportSums()
    /// Features read so far.
    private var count = 0
    /// Parts whose replies were not taken.
    private var underWay = 0
    private let replies: AsyncStream<[UInt8]?>.Continuation
    private var replied: AsyncStream<[UInt8]?>.Iterator

    /// Parts under way, as the command-line client has them.
    private static let underWayMax = 6

    init(_ request: APIRequest, part: ImportPart, door: HTTPDoor) {
        self.request = request
        self.part = part
        self.door = door
        let (stream, replies) = AsyncStream<[UInt8]?>.makeStream()
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
        count += 1
        do throws(WireError) {
            try feature.withUnsafeBufferPointer { bytes throws(WireError) in
                try parser.parse(UnsafeRawBufferPointer(bytes), padded: false) { _ in }
            }
        } catch {
            var error = error
            error.message = "feature \(count) of the file: \(error.message)"
            throw error
        }
    }

    /// Hands the part over, once there is room.
    mutating func carryOut() async throws {
        while underWay >= Self.underWayMax { try await takeReply() }
        var request = request
        request.body = part.take()
        underWay += 1
        door.ask(request) { [door, replies] reply in
            if let reply { door.written(reply) }
            replies.yield(reply?.bytes)
        }
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
        guard let bytes = await replied.next() ?? nil else {
            throw HTTPRefusal.unavailable("a part was not answered in time, or the daemon ends: send the file again")
        }
        guard case .object(let object) = try JSONValue.parse(bytes) else { return }
        if let error = object["error"]?.asObject {
            let code = ErrorCode(rawValue: error["error"]?.asString ?? "") ?? .internal
            throw WireError(code, error["message"]?.asString ?? "", field: error["field"]?.asString)
        }
        if let result = object["result"]?.asObject { sums.add(result) }
    }
}

/// Features that go into one request.
struct ImportPart {
    private let beginning: [UInt8]
    private var features: [UInt8] = []

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
    }

    mutating func take() -> [UInt8] {
        defer { features.removeAll(keepingCapacity: true) }
        return beginning + features + Array("]}}".utf8)
    }
}
