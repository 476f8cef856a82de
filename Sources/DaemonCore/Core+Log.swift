import Datasets
import Logging
import Wire

// What an operator sees at `debug`: what was refused and why, and what took long.

extension Core {
    /// A reply that took longer is slow.
    private static let slowMilliseconds = 500

    /// Logs what leaves at once: why input was refused.
    func logDiagnostics(_ batch: OutputBatch) {
        guard !batch.isEmpty, logger.logLevel <= .debug else { return }
        for item in batch.items {
            switch item.kind {
            case .diagnostic(let kind):
                logDiagnostic(kind, String(decoding: batch.bytes[item.name], as: UTF8.self), nil, item, batch)
            case .notification(let notification) where notification.recipient.path.hasPrefix("diagnostics/"):
                let recipient = notification.recipient
                logDiagnostic(String(recipient.path.dropFirst(12)), recipient.dataset, recipient.client, item, batch)
            default: break
            }
        }
    }

    private func logDiagnostic(_ kind: String, _ dataset: String, _ client: String?, _ item: Output, _ batch: OutputBatch) {
        guard let diagnostic = (try? JSONValue.parse(Array(batch.bytes[item.payload])))?.asObject else { return }
        var metadata: Logger.Metadata = ["kind": "\(kind)", "dataset": "\(dataset)"]
        if let client { metadata["client"] = "\(client)" }
        for key in ["topic", "error", "field"] { metadata[key] = diagnostic[key]?.asString.map { "\($0)" } }
        metadata["reason"] = diagnostic["message"]?.asString.map { "\($0)" }
        metadata["count"] = diagnostic["count"]?.asInt64.map { .stringConvertible($0) }
        logger.debug("input refused", metadata: metadata)
    }

    /// Logs the replies that leave: those that are errors, and those that took long.
    func logReplies(_ batch: OutputBatch) {
        guard !batch.isEmpty, logger.logLevel <= .debug else { return }
        for item in batch.items {
            guard case .reply(let answer) = item.kind, answer.queue != 0 else { continue }
            let milliseconds = Int((Meters.seconds - answer.receivedAt) * 1000)
            guard let reply = Self.head(of: batch.bytes[item.payload]) else { continue }
            let error = reply["error"]
            guard error != nil || milliseconds >= Self.slowMilliseconds else { continue }
            var metadata: Logger.Metadata = [
                "request": "\(reply["request"]?.asString ?? "")", "dataset": "\(queues.dataset(of: answer.queue))",
                "client": "\(queues.client(of: answer.queue))", "milliseconds": .stringConvertible(milliseconds),
            ]
            for key in ["error", "field"] { metadata[key] = error?.asObject?[key]?.asString.map { "\($0)" } }
            metadata["reason"] = error?.asObject?["message"]?.asString.map { "\($0)" }
            logger.debug(error == nil ? "request was slow" : "request refused", metadata: metadata)
        }
    }

    /// A reply without its result, which may be long; the key cannot be in a text before it, where its quotes were escaped.
    private static func head(of payload: ArraySlice<UInt8>) -> JSONObject? {
        let start = String(decoding: payload.prefix(1024), as: UTF8.self)
        guard let result = start.firstRange(of: ",\"result\":") else {
            return (try? JSONValue.parse(Array(payload)))?.asObject
        }
        return (try? JSONValue.parse(start[..<result.lowerBound] + "}"))?.asObject
    }
}
