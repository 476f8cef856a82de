import Records
import Wire

// What a client may name as pushers, and what they say.

extension HubConfiguration {
    /// Reads the pushers of an object.
    ///
    /// - Parameters:
    ///   - device: Whose token is meant where none is given; nil: that of the device which an event is about.
    ///   - areNew: What an operator allowed once and forbids by now is kept through other changes, and refused at each post.
    /// - Throws: Where they are new: `unsupported` where the operator has not set the service up, `invalid` where nothing may be posted there, or
    ///   no token is known.
    func readPushers(
        _ texts: [String], of recipient: Recipient, on device: Device? = nil, areNew: Bool
    ) throws(WireError) -> [Pusher] {
        let pushers = try [Pusher](reading: texts, of: recipient, naming: naming)
        guard areNew else { return pushers }
        for pusher in pushers {
            switch pusher {
            case .match, .path: break
            case .webhook(let url): try checkAddress(url)
            case .push(let target):
                try checkOffer(of: target.kind)
                if case .web(let subscription) = target { try check(subscription) }
            case .device(let kind):
                try checkOffer(of: kind)
                guard let device, PushTarget(kind, of: device.record) == nil else { continue }
                throw WireError(
                    .invalid,
                    "`\(kind.rawValue)://` without a token is the `deviceToken` of the device, and `\(device.record.id)` has none for it",
                    field: "pushers")
            }
        }
        return pushers
    }

    private func checkOffer(of kind: PushKind) throws(WireError) {
        guard !push.has(kind) else { return }
        let name = kind == .web ? "`webpush`" : "`\(kind.rawValue)://`"
        throw WireError(
            .unsupported,
            "\(name) pushers are not set up here: the operator sets `\(kind.key)` in the daemon's configuration; or name a webhook (`https://…`)",
            field: "pushers")
    }

    private func checkAddress(_ url: WebhookURL) throws(WireError) {
        let policy = AddressPolicy(allowsPrivate: webhooksAllowPrivate)
        if let refusal = policy.refusal(of: url) { throw WireError(.invalid, refusal, field: "pushers") }
    }

    private func check(_ subscription: WebPushSubscription) throws(WireError) {
        try checkAddress(subscription.endpoint)
        guard subscription.endpoint.scheme == .https || webhooksAllowPrivate else {
            throw WireError(.invalid, "the `endpoint` of a `webpush` pusher begins with https://", field: "pushers")
        }
        guard push.isPublicKey(subscription.publicKey) else {
            throw WireError(.invalid, "the `p256dh` of a `webpush` pusher is no point of P-256", field: "pushers")
        }
    }

    /// The key that browsers subscribe with.
    func getPushKey() throws(WireError) -> [UInt8] {
        guard let key = push.webKey else {
            throw WireError(
                .unsupported, "Web Push is not set up here: the operator sets `\(PushKind.web.key)` in the daemon's configuration"
            )
        }
        return JSONWriter.object { $0.member("publicKey", key) }
    }
}

extension Parameters {
    /// Texts, and objects for browsers as their text; empty where they are absent.
    func pushers(_ key: String) throws(WireError) -> [String] {
        var texts: [String] = []
        for (index, value) in (try optionalArray(key, count: 0...Pusher.countMaximum) ?? []).enumerated() {
            switch value {
            case .string(let text) where text.utf8.first != UInt8(ascii: "{"): texts.append(text)
            case .object(let object):
                texts.append(PushTarget.web(try WebPushSubscription(object, field: "\(key)[\(index)]")).text)
            default: throw error(key, "has texts, and objects with `webpush`", not: value)
            }
        }
        return texts
    }

    /// `{"title","body"}`, kept as it was sent.
    func notification(_ key: String) throws(WireError) -> String? {
        guard let notification = try optionalNested(key), let value = value(key) else { return nil }
        _ = try notification.optionalString("title", characters: 0...256)
        _ = try notification.optionalString("body", characters: 0...4096)
        return String(decoding: value.serialised(), as: UTF8.self)
    }
}
