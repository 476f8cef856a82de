internal import MQTTValues
internal import Wire

extension GeomatchError.Kind {
    /// Nobody takes requests at this broker: a command does not wait for a daemon.
    package static let unread = Self(rawValue: "unread")
}

extension GeomatchError {
    /// The `error` of a reply.
    init(reply error: JSONValue) {
        let members = error.asObject ?? JSONObject()
        self.init(
            Kind(rawValue: members["error"]?.asString ?? "malformed"),
            members["message"]?.asString ?? "the reply has an error without a message",
            code: members["code"]?.asInt64.flatMap { Int(exactly: $0) } ?? 0,
            field: members["field"]?.asString,
            position: members["position"]?.asInt64.flatMap { Int(exactly: $0) })
    }

    init(_ disconnect: MQTTDisconnect, broker: String) {
        // A code of MQTT's says nothing of HTTP.
        if case .refused(_, _, let text) = disconnect.cause, broker.hasPrefix("http") {
            self.init(.refused, "\(broker): refused: \(text)")
        } else {
            self.init(disconnect.needsAction ? .refused : .connectionLost, "\(broker): \(disconnect)")
        }
    }

    static func malformed(_ field: String, _ rule: String) -> GeomatchError {
        GeomatchError(.malformed, "`\(field)` of an answer \(rule)", field: field)
    }

    static let closed = GeomatchError(.closed, "the client is closed")
    static let cancelled = GeomatchError(.cancelled, "the task was cancelled")
}
