import Records
import Wire

/// The services that reach phones and browsers.
public enum PushKind: String, Sendable, CaseIterable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm
    /// The push service of a browser (RFC 8030).
    case web

    /// The section of the configuration that offers it.
    public var key: String { "push.\(rawValue)" }

    /// The service of a phone's platform; nil where that is none of those that have one.
    init?(ofPlatform platform: String?) {
        let platform = platform?.lowercased() ?? ""
        if platform.contains("ios") {
            self = .apns
        } else if platform.contains("android") {
            self = .fcm
        } else {
            return nil
        }
    }
}

/// One app on one phone, or one browser, as its push service knows it.
public enum PushTarget: Hashable, Sendable {
    case apns(token: String)
    case fcm(token: String)
    case web(WebPushSubscription)

    public var kind: PushKind {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        case .web: .web
        }
    }

    /// What shares a service, and a fate.
    public var origin: String {
        switch self {
        case .apns, .fcm: kind.rawValue
        case .web(let subscription): subscription.endpoint.origin
        }
    }

    /// As it is stored and read again; an object for browsers.
    public var text: String {
        switch self {
        case .apns(let token), .fcm(let token): "\(kind.rawValue)://\(token)"
        case .web(let subscription): subscription.text
        }
    }

    /// For reasons: without the token, which only the owner and the service know.
    var shown: String {
        switch self {
        case .apns, .fcm: "an `\(kind.rawValue)://` pusher"
        case .web(let subscription): subscription.endpoint.origin
        }
    }

    /// - Returns: nil where it is no token of this service.
    init?(_ kind: PushKind, token: some StringProtocol) {
        let bytes = token.utf8
        switch kind {
        case .apns:
            // It becomes a part of a path.
            guard (1...256).contains(bytes.count), bytes.allSatisfy(Self.isPlain) else { return nil }
            self = .apns(token: String(token))
        case .fcm:
            guard (1...4096).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
            self = .fcm(token: String(token))
        case .web: return nil
        }
    }

    /// What is written in a path unencoded, and leads nowhere else.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// What a device's `deviceToken` means for a service: one with a scheme is for that service only, and one without for that of the
    /// device's platform, where that says which.
    init?(_ kind: PushKind, of device: DeviceRecord?) {
        guard let device, let deviceToken = device.deviceToken else { return nil }
        for scheme in [PushKind.apns, .fcm] {
            let prefix = "\(scheme.rawValue)://"
            guard deviceToken.utf8.starts(with: prefix.utf8) else { continue }
            guard scheme == kind else { return nil }
            self.init(kind, token: deviceToken.dropFirst(prefix.count))
            return
        }
        guard PushKind(ofPlatform: device.platform).map({ $0 == kind }) ?? true else { return nil }
        self.init(kind, token: deviceToken)
    }
}

/// What a browser's `PushManager.subscribe` gives: where to post, and whom to encrypt for.
public struct WebPushSubscription: Hashable, Sendable {
    public let endpoint: WebhookURL
    /// A point of P-256, uncompressed: 65 bytes.
    public let publicKey: [UInt8]
    /// 16 bytes
    public let secret: [UInt8]
    /// `{"webpush":{"endpoint","keys":{"p256dh","auth"}}}`: each match names it several times.
    let text: String

    private static func text(_ endpoint: WebhookURL, _ publicKey: [UInt8], _ secret: [UInt8]) -> String {
        String(
            decoding: JSONWriter.object { writer in
                writer.key("webpush")
                writer.beginObject()
                writer.member("endpoint", endpoint.text)
                writer.key("keys")
                writer.beginObject()
                writer.member("p256dh", Base64URL.encode(publicKey))
                writer.member("auth", Base64URL.encode(secret))
                writer.endObject()
                writer.endObject()
            }, as: UTF8.self)
    }

    /// Reads the object of a pusher. What browsers add to theirs, `expirationTime`, is left out.
    ///
    /// - Parameter field: What the pusher is called.
    /// - Throws: `invalid`, naming the member.
    public init(_ pusher: JSONObject, field: String = "pushers") throws(WireError) {
        func refuse(_ problem: String) -> WireError {
            WireError(
                .invalid, "a pusher that is an object is {\"webpush\":{\"endpoint\",\"keys\":{\"p256dh\",\"auth\"}}}: \(problem)",
                field: "pushers")
        }
        func object(_ value: JSONValue?, at path: String, _ known: [String]) throws(WireError) -> JSONObject {
            guard let object = value?.asObject else { throw refuse("`\(path)` is missing, or no object") }
            guard let key = object.keys.first(where: { !known.contains($0) }) else { return object }
            let unknown = "\(path).\(key.prefix(64))"
            let advice = Nearness.advice(on: key, of: known, at: path + ".", else: "there are")
            throw WireError(.invalid, "`\(unknown)` is no member of a pusher; \(advice)", field: unknown)
        }
        func bytes(_ object: JSONObject, _ name: String) throws(WireError) -> [UInt8] {
            guard let text = object[name]?.asString, text.utf8.count <= 128, let bytes = Base64URL.decode(text) else {
                throw refuse("`\(name)` is missing, or not base64url")
            }
            return bytes
        }
        let outer = try object(.object(pusher), at: field, ["webpush"])
        let inner = try object(outer["webpush"], at: field + ".webpush", ["endpoint", "expirationTime", "keys"])
        let keys = try object(inner["keys"], at: field + ".webpush.keys", ["p256dh", "auth"])
        guard let address = inner["endpoint"]?.asString else { throw refuse("`endpoint` is missing, or no text") }
        endpoint = try WebhookURL(address, field: "pushers")
        publicKey = try bytes(keys, "p256dh")
        secret = try bytes(keys, "auth")
        guard publicKey.count == 65, publicKey.first == 4 else {
            throw refuse("`p256dh` is an uncompressed point of P-256, 65 bytes")
        }
        guard secret.count == 16 else { throw refuse("`auth` has 16 bytes") }
        text = Self.text(endpoint, publicKey, secret)
    }
}
