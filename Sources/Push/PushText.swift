import Wire

/// What a message says, as each service wants it.
struct PushText {
    /// Ids, a topic, an event: texts by their keys.
    var members: [(key: String, value: String)] = []
    var title: String?
    var body: String?

    /// A person sees it; else only the app is woken.
    var isShown: Bool { title != nil || body != nil }

    init(_ message: [UInt8]) {
        guard let object = (try? JSONValue.parse(message))?.asObject else { return }
        for member in object.members {
            if let text = member.value.asString { members.append((member.key, text)) }
        }
        let notification = object["notification"]?.asObject
        title = notification?["title"]?.asString
        body = notification?["body"]?.asString
    }

    /// `{"aps":{"alert"…},"matchId",…}`
    var apns: [UInt8] {
        fitting(4096) { text in
            JSONWriter.object { writer in
                writer.key("aps")
                writer.beginObject()
                if text.isShown {
                    writer.key("alert")
                    text.encodeNotification(into: &writer)
                    writer.member("sound", "default")
                }
                writer.member("content-available", 1)
                writer.endObject()
                text.encodeMembers(into: &writer)
            }
        }
    }

    /// `{"message":{"token","data","notification"?,"android"}}`
    ///
    /// - Parameter seconds: How long it is kept for a phone that is away.
    func fcm(token: String, seconds: Int64) -> [UInt8] {
        // The token does not count.
        fitting(4096 + token.utf8.count) { text in
            JSONWriter.object { writer in
                writer.key("message")
                writer.beginObject()
                writer.member("token", token)
                writer.key("data")
                writer.beginObject()
                text.encodeMembers(into: &writer)
                writer.endObject()
                if text.isShown {
                    writer.key("notification")
                    text.encodeNotification(into: &writer)
                }
                writer.key("android")
                writer.beginObject()
                writer.member("priority", text.isShown ? "HIGH" : "NORMAL")
                writer.member("ttl", "\(seconds)s")
                writer.endObject()
                writer.endObject()
            }
        }
    }

    /// `{"matchId",…,"notification"?}`
    var web: [UInt8] {
        fitting(WebPushEncryption.messageBytesMax) { text in
            JSONWriter.object { writer in
                text.encodeMembers(into: &writer)
                guard text.isShown else { return }
                writer.key("notification")
                text.encodeNotification(into: &writer)
            }
        }
    }

    private func encodeMembers(into writer: inout JSONWriter) {
        for member in members { writer.member(member.key, member.value) }
    }

    private func encodeNotification(into writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("title", optional: title)
        writer.member("body", optional: body)
        writer.endObject()
    }

    // MARK: Size

    /// What is encoded, with as much text as fits.
    private func fitting(_ bytesMax: Int, _ encode: (PushText) -> [UInt8]) -> [UInt8] {
        var text = self
        var bytes = encode(text)
        while bytes.count > bytesMax, text.shorten(by: bytes.count - bytesMax) { bytes = encode(text) }
        return bytes
    }

    /// Cuts the body, then the title.
    ///
    /// - Returns: false where nothing is left.
    private mutating func shorten(by bytes: Int) -> Bool {
        if Self.shorten(&body, by: bytes) { return true }
        return Self.shorten(&title, by: bytes)
    }

    private static func shorten(_ text: inout String?, by bytes: Int) -> Bool {
        guard let scalars = text?.unicodeScalars, scalars.count > 1 else { return false }
        // One takes six bytes at most: cut by cut, until it fits.
        let kept = max(0, scalars.count - max(2, bytes / 6))
        text = String(String.UnicodeScalarView(scalars.prefix(kept))) + "…"
        return true
    }
}
