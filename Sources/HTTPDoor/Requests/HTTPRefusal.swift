import HTTPTypes
import Wire

/// Why a request is answered with an error before the core sees it.
struct HTTPRefusal: Error, Equatable {
    var status: HTTPResponse.Status
    var error: WireError
    var fields: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ code: ErrorCode, _ message: String, field: String? = nil) {
        self.status = status
        error = WireError(code, message, field: field)
    }

    init(_ error: WireError) {
        status = HTTPResponse.Status(code: error.code.code)
        self.error = error
    }

    static func invalid(_ message: String, field: String? = nil) -> HTTPRefusal {
        HTTPRefusal(.badRequest, .invalid, message, field: field)
    }

    static func forbidden(_ message: String) -> HTTPRefusal { HTTPRefusal(.forbidden, .forbidden, message) }

    static func unauthorized(_ message: String) -> HTTPRefusal {
        var refusal = HTTPRefusal(.unauthorized, .unauthorized, message)
        refusal.fields[.wwwAuthenticate] = "Bearer realm=\"geomatch\", Basic realm=\"geomatch\""
        return refusal
    }

    static func noPath(_ path: String) -> HTTPRefusal {
        HTTPRefusal(.notFound, .notFound, "there is nothing at `\(path.prefix(80))`: see /openapi.json")
    }

    static func method(_ method: HTTPRequest.Method, allow: String) -> HTTPRefusal {
        var refusal = HTTPRefusal(
            .methodNotAllowed, .invalid, "`\(method.rawValue.prefix(20))` is not for this path; allowed is \(allow)")
        refusal.fields[.allow] = allow
        return refusal
    }

    static var upgradeRequired: HTTPRefusal {
        var refusal = HTTPRefusal(
            HTTPResponse.Status(code: 426, reasonPhrase: "Upgrade Required"), .invalid,
            "this path is a WebSocket: connect with an upgrade, version 13")
        refusal.fields[.upgrade] = "websocket"
        refusal.fields[.secWebSocketVersion] = "13"
        return refusal
    }

    static let headTooLarge = HTTPRefusal(
        HTTPResponse.Status(code: 431, reasonPhrase: "Request Header Fields Too Large"), .tooLarge,
        "the request line and the headers have more than 16 KiB, or there are more than 100 of them")

    static func tooLarge(_ limit: Int) -> HTTPRefusal {
        HTTPRefusal(.contentTooLarge, .tooLarge, "the body has more than \(limit >> 10) KiB, the maximum here")
    }

    static func coding(_ coding: String) -> HTTPRefusal {
        HTTPRefusal(
            .unsupportedMediaType, .invalid,
            "a body with `Content-Encoding: \(coding.prefix(40))` is not read: send it uncompressed",
            field: "Content-Encoding")
    }

    static let brokenBody = invalid("the body is broken: it ends before its length, or its chunks cannot be read")

    static func unavailable(_ message: String) -> HTTPRefusal {
        var refusal = HTTPRefusal(.serviceUnavailable, .internal, message)
        refusal.fields[.retryAfter] = "1"
        return refusal
    }

    static let tooManyConnections = unavailable("there are too many connections: try again later")

    var answer: HTTPAnswer {
        var answer = HTTPAnswer(status, json: body)
        for field in fields { answer.fields[field.name] = field.value }
        return answer
    }

    /// `{"error":{…}}`
    var body: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("error")
        error.encode(into: &writer, status: status.code)
        writer.endObject()
        return writer.bytes
    }
}
