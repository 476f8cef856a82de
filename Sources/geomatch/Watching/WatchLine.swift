import Wire

/// One message as one line.
enum WatchLine {
    /// The payload as it came where it is JSON on one line.
    static func json(topic: String, payload: UnsafeRawBufferPointer) -> String {
        if payload.isEmpty { return text(of: ["topic": .string(topic), "cleared": true]) }
        guard let value = try? JSONValue.parse(payload) else {
            return text(of: ["topic": .string(topic), "payload": .string(String(decoding: payload, as: UTF8.self))])
        }
        let isOneLine = !payload.contains { $0 < 0x20 }
        return isOneLine ? String(decoding: payload, as: UTF8.self) : String(decoding: value.serialised(), as: UTF8.self)
    }

    /// For people; a message of an unknown shape is shown whole.
    static func text(_ subject: WatchSubject, topic: String, payload: UnsafeRawBufferPointer) -> String {
        let topic = PlainText.printable(topic)
        if payload.isEmpty { return "\(topic) cleared" }
        guard let value = try? JSONValue.parse(payload) else {
            return "\(topic) \(PlainText.printable(String(decoding: payload, as: UTF8.self)))"
        }
        if let object = value.asObject, let line = line(subject, object) { return line }
        return "\(topic) \(PlainText.of(value))"
    }

    private static func line(_ subject: WatchSubject, _ object: JSONObject) -> String? {
        switch subject {
        case .matches: match(object)
        case .live: live(object)
        case .diagnostics: diagnostic(object)
        case .circumstances: circumstance(object)
        case .geofences: geofence(object)
        case .changes: nil
        }
    }

    /// `seq type id revision`, and what is to be said of it.
    static func change(_ row: JSONObject) -> String {
        var line = ["seq", "type", "id", "revision"].map { row[$0].map(PlainText.of) ?? "?" }.joined(separator: " ")
        if row["deleted"]?.asBool == true { line += " deleted" }
        if let conflicts = row["conflicts"] { line += " beside \(PlainText.of(conflicts))" }
        if let document = row["doc"] { line += " \(PlainText.of(document))" }
        return line
    }

    private static func match(_ match: JSONObject) -> String? {
        guard let event = match["event"]?.asString, let publication = match["publication"]?.asObject,
            let subscription = match["subscription"]?.asObject
        else { return nil }
        var line = "\(instant(match["createdAt"])) \(PlainText.printable(event))"
        if let reason = match["reason"] { line += " (\(PlainText.of(reason)))" }
        if let distance = match["distance"]?.asDouble { line += " \(PlainText.decimal(distance, 2)) m" }
        line += " \(side(publication)) -> \(side(subscription))"
        if let topic = publication["topic"] { line += " topic \(PlainText.of(topic))" }
        if let properties = publication["properties"] { line += " \(PlainText.of(properties))" }
        return line
    }

    /// `device/publication`
    private static func side(_ side: JSONObject) -> String {
        "\(side["deviceId"].map(PlainText.of) ?? "?")/\(side["id"].map(PlainText.of) ?? "?")"
    }

    private static func live(_ update: JSONObject) -> String? {
        guard let topic = update["topic"], let properties = update["properties"] else { return nil }
        let derived = update["derived"]?.asBool == true ? " derived" : ""
        let left = update["left"]?.asBool == true ? " left" : ""
        return "\(instant(update["timestamp"])) \(PlainText.of(topic)) \(PlainText.of(properties))\(derived)\(left)"
    }

    private static func diagnostic(_ diagnostic: JSONObject) -> String? {
        guard let topic = diagnostic["topic"], let error = diagnostic["error"], let message = diagnostic["message"] else {
            return nil
        }
        let field = diagnostic["field"].map { " \(PlainText.of($0))" } ?? ""
        let count = diagnostic["count"]?.asInt64.map { $0 == 1 ? "" : " (\($0) times)" } ?? ""
        return "\(PlainText.of(topic)): \(PlainText.of(error))\(field): \(PlainText.of(message))\(count)"
    }

    private static func circumstance(_ incident: JSONObject) -> String? {
        guard let id = incident["circumstanceId"], let device = incident["deviceId"] else { return nil }
        var line = "\(instant(incident["timestamp"])) \(PlainText.of(id))"
        if let name = incident["name"]?.asString { line += " \"\(PlainText.printable(name))\"" }
        if let when = incident["when"] { line += " \(PlainText.of(when))" }
        line += " device \(PlainText.of(device))"
        if let error = incident["error"] { line += " error \(PlainText.of(error))" }
        return line
    }

    /// `instant id "name" entered device`, at the end with the reason and the seconds.
    private static func geofence(_ event: JSONObject) -> String? {
        guard let id = event["geofence"], let word = event["event"]?.asString, let device = event["deviceId"] else { return nil }
        var line = "\(instant(event["timestamp"])) \(PlainText.of(id))"
        if let name = event["name"]?.asString { line += " \"\(PlainText.printable(name))\"" }
        line += " \(PlainText.printable(word)) \(PlainText.of(device))"
        if let reason = event["reason"] { line += " (\(PlainText.of(reason)))" }
        if let duration = event["duration"]?.asDouble { line += " after \(PlainText.decimal(duration, 0)) s" }
        return line
    }

    private static func instant(_ value: JSONValue?) -> String {
        value?.asInt64.map(PlainText.instant) ?? "-"
    }

    private static func text(of object: JSONObject) -> String {
        String(decoding: JSONValue.object(object).serialised(), as: UTF8.self)
    }
}
