import Testing
import Wire

/// A payload on a domain and what becomes of it.
struct LiveUpdateRow: Sendable, CustomTestStringConvertible {
    var domain: String
    var payload: String
    var properties = ""
    var timestamp: Int64?
    var source: String?
    /// Of the refusal.
    var field: String?

    var testDescription: String { "\(domain) \(payload.prefix(120))" }

    init(_ domain: String, _ payload: String, _ properties: String, timestamp: Int64? = nil, source: String? = nil) {
        self.domain = domain
        self.payload = payload
        self.properties = properties
        self.timestamp = timestamp
        self.source = source
    }

    /// A payload that is refused.
    static func refused(_ domain: String, _ payload: String, field: String?) -> LiveUpdateRow {
        var row = LiveUpdateRow(domain, payload, "")
        row.field = field
        return row
    }

    func decode(with decoder: LiveUpdateDecoder = LiveUpdateDecoder()) throws(WireError) -> (
        update: LiveUpdate, properties: String
    ) {
        var properties: [UInt8] = Array("#".utf8)
        do throws(WireError) {
            let update = try decoder.decode(Array(payload.utf8), domain: domain, properties: &properties)
            return (update, String(decoding: properties.dropFirst(), as: UTF8.self))
        } catch {
            guard properties == Array("#".utf8) else { throw WireError(.internal, "something was written of a refused payload") }
            throw error
        }
    }
}
