import HTTPTypes
import Wire

/// An error as CouchDB's clients read it: `{"error","reason"}`.
struct CouchRefusal: Error {
    var status: HTTPResponse.Status
    /// One of CouchDB's names.
    var name: String
    var reason: String
    var fields: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ name: String, _ reason: String) {
        self.status = status
        self.name = name
        self.reason = reason
    }

    init(_ error: WireError) {
        let (status, name) = Self.form(of: error.code)
        // The core speaks of its own member, `parent`.
        self.init(status, name, error.code == .conflict ? "Document update conflict." : error.message)
    }

    init(_ refusal: HTTPRefusal) {
        self.init(refusal.error)
        status = refusal.status
        fields = refusal.fields
        switch status.code {
        case 405: name = "method_not_allowed"
        case 503: name = "service_unavailable"
        default: break
        }
    }

    private static func form(of code: ErrorCode) -> (HTTPResponse.Status, String) {
        switch code {
        case .invalid: (.badRequest, "bad_request")
        case .unauthorized: (.unauthorized, "unauthorized")
        case .forbidden, .limit, .unsupported: (.forbidden, "forbidden")
        case .notFound, .unknownDataset: (.notFound, "not_found")
        case .conflict: (.conflict, "conflict")
        case .tooLarge: (.contentTooLarge, "too_large")
        case .internal: (.internalServerError, "internal_server_error")
        }
    }

    static func badRequest(_ reason: String) -> CouchRefusal { CouchRefusal(.badRequest, "bad_request", reason) }
    static func notFound(_ reason: String) -> CouchRefusal { CouchRefusal(.notFound, "not_found", reason) }
    static func forbidden(_ reason: String) -> CouchRefusal { CouchRefusal(.forbidden, "forbidden", reason) }
    static func conflict(_ reason: String) -> CouchRefusal { CouchRefusal(.conflict, "conflict", reason) }

    static let attachments = forbidden("attachments are not kept: store the file elsewhere, and its address in the document")

    var answer: HTTPAnswer {
        var answer = HTTPAnswer(
            status,
            json: JSONWriter.object { writer in
                writer.member("error", name)
                writer.member("reason", reason)
            })
        for field in fields { answer.fields[field.name] = field.value }
        return answer
    }
}
