/// The payload of a request: its parameters and the id its reply is to carry.
public struct Request: Equatable, Sendable {
    /// At most 64 characters; nil where none was sent.
    public var id: String?
    /// The members of the payload but `requestId`.
    public var parameters: JSONObject

    public init(id: String? = nil, parameters: JSONObject) {
        self.id = id
        self.parameters = parameters
    }

    /// Why a payload is no request, with the id that its reply echoes all the same.
    public struct Refusal: Error, Equatable, Sendable {
        public var id: String?
        public var error: WireError

        public init(id: String? = nil, error: WireError) {
            self.id = id
            self.error = error
        }
    }

    /// Bytes of the longest request that is carried out.
    public static let payloadBytesMax = 256 * 1024

    /// Characters (Unicode scalar values) of the longest request id.
    public static let idCharactersMax = 64

    /// Reads a payload. Up to 1 MiB the id is found also where the payload is too large.
    ///
    /// - Parameters:
    ///   - padded: 64 bytes behind the payload are readable; without it the payload is copied.
    ///   - parser: One parser for many requests spares its buffers each time.
    public static func parse(
        _ payload: UnsafeRawBufferPointer, padded: Bool = false, using parser: JSONParser = JSONParser()
    ) -> Result<Request, Refusal> {
        defer { withExtendedLifetime(parser) {} }
        let isTooLarge = payload.count > payloadBytesMax
        let tooLarge = WireError(.tooLarge, "a request has at most 256 KiB, not \(payload.count) bytes")
        let root: JSONNode
        do throws(JSONError) {
            root = try parser.root(of: payload, padded: padded)
        } catch {
            let id = TopLevelText.last("requestId", of: payload, using: parser)
            return .failure(
                Refusal(
                    id: id.flatMap { $0.unicodeScalars.count <= idCharactersMax ? $0 : nil },
                    error: isTooLarge ? tooLarge : WireError(error, about: payload)))
        }
        guard root.kind == .object else {
            let error = WireError(.invalid, "the payload must be a JSON object, not \(root.shown)")
            return .failure(Refusal(error: isTooLarge ? tooLarge : error))
        }
        do throws(WireError) {
            let id = try requestID(root["requestId"])
            if isTooLarge { return .failure(Refusal(id: id, error: tooLarge)) }
            guard case .object(var parameters) = JSONValue(root) else { return .failure(Refusal(error: tooLarge)) }
            parameters["requestId"] = nil
            return .success(Request(id: id, parameters: parameters))
        } catch {
            return .failure(Refusal(error: isTooLarge ? tooLarge : error))
        }
    }

    /// Reads a payload. Up to 1 MiB the id is found also where the payload is too large.
    public static func parse(_ payload: [UInt8], using parser: JSONParser = JSONParser()) -> Result<Request, Refusal> {
        payload.withUnsafeBytes { parse($0, padded: false, using: parser) }
    }

    private static func requestID(_ node: JSONNode?) throws(WireError) -> String? {
        guard let node, node.kind != .null else { return nil }
        guard let id = node.asString else { throw node.error("requestId", "a string") }
        guard id.unicodeScalars.count <= idCharactersMax else {
            throw WireError(
                .invalid, "`requestId` must have at most \(idCharactersMax) characters, not \(id.unicodeScalars.count)",
                field: "requestId")
        }
        return id
    }
}

extension Result where Success == Request, Failure == Request.Refusal {
    /// Echoed also where the payload is no request otherwise.
    public var requestId: String? {
        switch self {
        case .success(let request): request.id
        case .failure(let refusal): refusal.id
        }
    }
}
