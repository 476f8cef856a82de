import Testing

@testable import Wire

/// A message of another ecosystem and the live updates it becomes.
struct AdapterRow: Sendable, CustomTestStringConvertible {
    var format: String
    var filter: String
    var topic: String
    var payload: String
    /// Each as its live topic, a space and its native payload.
    var updates: [String] = []
    /// Of the refusal.
    var field: String?
    var isRefused = false
    var isRetained = false
    var further: [String: String] = [:]

    var testDescription: String { "\(format) \(topic) \(payload.prefix(160))" }

    init(
        _ format: String, _ filter: String, _ topic: String, _ payload: String, _ updates: String..., retained: Bool = false,
        with further: [String: String] = [:]
    ) {
        self.format = format
        self.filter = filter
        self.topic = topic
        self.payload = payload
        self.updates = updates
        self.further = further
        isRetained = retained
    }

    static func refused(
        _ format: String, _ filter: String, _ topic: String, _ payload: String, field: String?,
        with further: [String: String] = [:]
    ) -> AdapterRow {
        var row = AdapterRow(format, filter, topic, payload, with: further)
        row.isRefused = true
        row.field = field
        return row
    }

    var rule: AdapterRule {
        get throws {
            try AdapterRule(
                [("filter", filter), ("format", format), ("dataset", further["dataset"] ?? "d")]
                    + further.filter { $0.key != "dataset" }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        }
    }

    /// Reads the message and compares; what is accepted must be a live update that the daemon takes.
    func check(_ adapters: Adapters? = nil) throws {
        let adapters = try adapters ?? Adapters([rule])
        let message = try #require(adapters.read(topic: topic, payload: Array(payload.utf8), retained: isRetained))
        switch message.updates {
        case .failure(let error):
            #expect(isRefused, "\(error)")
            #expect(error.field == field, "\(error)")
            if let field { #expect(error.message.contains("`\(field)`"), "\(error)") }
        case .success(let made):
            #expect(!isRefused, "\(made.map(\.text))")
            #expect(made.map(\.text) == updates)
            for update in made where !update.payload.isEmpty { try update.checkNative() }
        }
    }
}

extension AdaptedMessage.Update {
    var text: String { topic.encoded + " " + String(decoding: payload, as: UTF8.self) }

    /// The daemon takes the payload as it is.
    func checkNative() throws {
        var properties: [UInt8] = []
        _ = try LiveUpdateDecoder().decode(payload, domain: topic.domain, properties: &properties)
    }
}

extension Adapters {
    func read(topic: String, payload: [UInt8], retained: Bool = false) -> AdaptedMessage? {
        Array(topic.utf8).withUnsafeBytes { topic in
            payload.withUnsafeBytes { read(topic: topic, payload: $0, retained: retained) }
        }
    }
}
