import HTTPTypes
import NIOCore

/// A whole answer.
struct HTTPAnswer: Sendable {
    var status: HTTPResponse.Status
    var fields: HTTPFields
    var body: [UInt8]

    init(_ status: HTTPResponse.Status, json body: [UInt8]) {
        self.init(status, type: "application/json", body)
    }

    init(_ status: HTTPResponse.Status, type: String, _ body: [UInt8]) {
        self.status = status
        self.body = body
        fields = [.contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff"]
    }

    /// Nothing but a status.
    static func empty(_ status: HTTPResponse.Status = .ok) -> HTTPAnswer {
        HTTPAnswer(status, type: "text/plain; charset=utf-8", [])
    }

    var head: HTTPResponse {
        var head = HTTPResponse(status: status, headerFields: fields)
        if status != .noContent { head.headerFields[.contentLength] = String(body.count) }
        return head
    }
}

/// What a reply object says of itself, without parsing it: `requestId` and `request` are texts, and then comes `result` or `error`.
enum ReplyStatus {
    static func read(_ reply: [UInt8]) -> Int {
        reply.withUnsafeBytes { read($0).status }
    }

    /// Whether this is a result of the request, and not the first reply to another that had the same `requestId`.
    static func isResult(_ reply: [UInt8], of request: String) -> Bool {
        reply.withUnsafeBytes { bytes in
            let (status, name) = read(bytes)
            return status == 200 && name.map { bytes[$0].elementsEqual(request.utf8) } == true
        }
    }

    /// - Returns: The status, and where the name of the request is.
    private static func read(_ bytes: UnsafeRawBufferPointer) -> (status: Int, request: Range<Int>?) {
        var place = 1
        var request: Range<Int>?
        while let name = text(bytes, &place) {
            place += 1
            if bytes[name].elementsEqual("result".utf8) { return (200, request) }
            if bytes[name].elementsEqual("error".utf8) { return (code(bytes, place), request) }
            guard let value = text(bytes, &place) else { break }
            if bytes[name].elementsEqual("request".utf8) { request = value }
            place += 1
        }
        return (500, request)
    }

    /// The text that begins here; `place` is then behind its closing quotation mark.
    private static func text(_ bytes: UnsafeRawBufferPointer, _ place: inout Int) -> Range<Int>? {
        guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else { return nil }
        let start = place + 1
        place = start
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard place < bytes.count else { return nil }
        defer { place += 1 }
        return start..<place
    }

    /// The number behind `{"code":`.
    private static func code(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> Int {
        let beginning = Array("{\"code\":".utf8)
        let end = place + beginning.count
        guard end <= bytes.count, bytes[place..<end].elementsEqual(beginning) else { return 500 }
        let digits = bytes[end...].prefix { (48...57).contains($0) }.prefix(3)
        let code = digits.reduce(0) { $0 * 10 + Int($1) - 48 }
        return (400...599).contains(code) ? code : 500
    }
}

extension HTTPField.Name {
    static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
    static let apiKey = HTTPField.Name("api-key")!
    static let geomatchForwarded = HTTPField.Name(Forwarding.field)!
    static let geomatchClient = HTTPField.Name("Geomatch-Client")!
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
}
