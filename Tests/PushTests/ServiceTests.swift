import Crypto
import CryptoExtras
import Datasets
import Foundation
import Synchronization
import Testing
import WebhookReceiver
import Wire

@testable import Push

@Suite("Push services", .timeLimit(.minutes(5)))
struct ServiceTests {
    // MARK: Web Push

    private static func browser(
        port: Int, path: String = "/p/1", scheme: String = "http"
    ) throws -> (target: PushTarget, key: P256.KeyAgreement.PrivateKey) {
        let key = P256.KeyAgreement.PrivateKey()
        let text =
            #"{"webpush":{"endpoint":"\#(scheme)://127.0.0.1:\#(port)\#(path)","keys":{"p256dh":"\#(Base64URL.encode(Array(key.publicKey.x963Representation)))","auth":"AAECAwQFBgcICQoLDA0ODw"}}}"#
        let object = try #require(try JSONValue.parse(text).asObject)
        return (.web(try WebPushSubscription(object)), key)
    }

    private static func web(_ folder: Folder) throws -> PushConfiguration {
        var configuration = try PushConfiguration()
        configuration.web = try PushConfiguration.Web(subject: "mailto:ops@example.org", keyFile: folder.file("web.pem"))
        return configuration
    }

    @Test("A browser's push service gets what RFC 8030 and 8292 want, and nothing that it could read")
    func webPush() async throws {
        let folder = try Folder()
        let inbox = Inbox()
        let receiver = try WebhookReceiver { inbox.add($0) }
        defer { receiver.stop() }
        let configuration = try Self.web(folder)
        let pusher = Pusher(configuration)
        let (target, _) = try Self.browser(port: receiver.port)
        #expect(await pusher.outcomes([target, target]) == [.taken(status: 201), .taken(status: 201)])
        let post = try #require(inbox.all.first)
        #expect(post.method == "POST" && post.target == "/p/1" && post["Content-Encoding"] == "aes128gcm")
        #expect((3590...3600).contains(Int(post["TTL"] ?? "") ?? 0) && post["Urgency"] == "high")
        #expect(post["Topic"]?.utf8.count == 32 && post["Topic"] == inbox.all.last?["Topic"])
        #expect(!String(decoding: post.body, as: UTF8.self).contains("coffee") && post.body.count <= 4096)
        let authorization = try #require(post["Authorization"])
        let key = try #require(configuration.web?.publicKey)
        #expect(authorization.hasPrefix("vapid t=") && authorization.hasSuffix(",k=\(key)"))
        let token = try #require(ReadToken(String(authorization.dropFirst(8).prefix { $0 != "," })))
        #expect(token.head["alg"] as? String == "ES256" && token.claims["aud"] as? String == "http://127.0.0.1:\(receiver.port)")
        #expect(token.claims["sub"] as? String == "mailto:ops@example.org")
        let exp = try #require(token.claims["exp"] as? Int64)
        #expect((1...86_400).contains(exp - pusher.moment.seconds))
        let verifier = try P256.Signing.PublicKey(x963Representation: try #require(Base64URL.decode(key)))
        #expect(verifier.isValidSignature(try .init(rawRepresentation: token.signature), for: token.signed))
        // The second is signed with the same token, and one after a jump of the clock is not.
        #expect(inbox.all[1]["Authorization"] == authorization)
        pusher.moment.wall += 3_600_000
        _ = await pusher.outcome(target)
        #expect(inbox.all[2]["Authorization"] != authorization)
        await pusher.push.close(drainSeconds: 0)
    }

    struct WebAnswer: CustomTestStringConvertible {
        var status: Int
        var outcome: PostOutcome
        var requests = 1
        var testDescription: String { "\(status)" }
    }

    @Test(
        "Each answer of a browser's push service means one thing",
        arguments: [
            WebAnswer(status: 200, outcome: .taken(status: 200)), WebAnswer(status: 202, outcome: .taken(status: 202)),
            WebAnswer(status: 404, outcome: .gone(reason: "the push service answered 404: the token is not valid any more")),
            WebAnswer(status: 410, outcome: .gone(reason: "the push service answered 410: the token is not valid any more")),
            WebAnswer(status: 400, outcome: .refused(reason: "the push service answered 400")),
            WebAnswer(status: 413, outcome: .refused(reason: "the push service answered 413")),
            WebAnswer(status: 401, outcome: .misconfigured(reason: "the push service answered 401"), requests: 2),
            WebAnswer(status: 403, outcome: .misconfigured(reason: "the push service answered 403"), requests: 2),
            WebAnswer(status: 429, outcome: .failed(reason: "the push service answered 429", retryAfter: 9000)),
            WebAnswer(status: 500, outcome: .failed(reason: "the push service answered 500", retryAfter: 9000)),
            WebAnswer(status: 503, outcome: .failed(reason: "the push service answered 503", retryAfter: 9000)),
            WebAnswer(status: 307, outcome: .failed(reason: "the push service answered 307", retryAfter: 9000)),
        ])
    func webAnswers(_ row: WebAnswer) async throws {
        let inbox = Inbox { _ in .status(row.status, headers: [("Retry-After", "9"), ("Location", "/other")]) }
        let receiver = try WebhookReceiver { inbox.add($0) }
        defer { receiver.stop() }
        let pusher = Pusher(try Self.web(try Folder()))
        #expect(await pusher.outcome(try Self.browser(port: receiver.port).target) == row.outcome)
        #expect(inbox.all.count == row.requests)
        if row.requests == 2 { #expect(inbox.all[0]["Authorization"] != inbox.all[1]["Authorization"]) }
        await pusher.push.close(drainSeconds: 0)
    }

    @Test("An endpoint on a private address is refused where that is forbidden, and nothing is sent")
    func privateEndpoints() async throws {
        let inbox = Inbox()
        let receiver = try WebhookReceiver { inbox.add($0) }
        defer { receiver.stop() }
        let pusher = Pusher(try Self.web(try Folder()), allowsPrivate: false)
        guard case .refused = await pusher.outcome(try Self.browser(port: receiver.port).target) else {
            Issue.record("it was sent")
            return
        }
        #expect(inbox.all.isEmpty)
        await pusher.push.close(drainSeconds: 0)
    }

    @Test("The key of Web Push is made once, for nobody else to read, and read in either form")
    func webKey() throws {
        let folder = try Folder()
        let made = try PushConfiguration.Web(subject: "mailto:a@b", keyFile: folder.file("new.pem"))
        #expect(try PushConfiguration.Web(subject: "mailto:a@b", keyFile: folder.file("new.pem")).publicKey == made.publicKey)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("new.pem"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let raw = try folder.file("raw", Base64URL.encode(Array(made.key.rawRepresentation)) + "\n")
        #expect(try PushConfiguration.Web(subject: "mailto:a@b", keyFile: raw).publicKey == made.publicKey)
        for wrong in ["", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            let file = try folder.file("wrong", wrong)
            #expect(throws: PushConfigurationError.self) { try PushConfiguration.Web(subject: "mailto:a@b", keyFile: file) }
            #expect(throws: PushConfigurationError.self) {
                try PushConfiguration.APNs(teamID: "T", keyID: "K", keyFile: file, topic: "t", isSandbox: false)
            }
            #expect(throws: PushConfigurationError.self) { try PushConfiguration.FCM(serviceAccountFile: file) }
            #expect(throws: PushConfigurationError.self) { try PushConfiguration(caFile: file) }
        }
        #expect(throws: PushConfigurationError.self) {
            try PushConfiguration.Web(subject: "mailto:a@b", keyFile: folder.path + "/none/key.pem")
        }
    }

    // MARK: FCM

    /// Google's two services in one.
    private final class Google: Sendable {
        let inbox: Inbox
        let receiver: WebhookReceiver
        let key: _RSA.Signing.PublicKey
        let pusher: Pusher

        init(
            _ folder: Folder, token: @escaping @Sendable (Int) -> WebhookReceiver.Reply? = { _ in nil },
            send: @escaping @Sendable (WebhookReceiver.Post) -> WebhookReceiver.Reply = { _ in .status(200, body: "{}") }
        ) throws {
            let tokens = Mutex(0)
            let inbox = Inbox { post in
                guard post.target == "/token" else { return send(post) }
                let number = tokens.withLock { number in
                    number += 1
                    return number
                }
                return token(number)
                    ?? .status(200, body: #"{"access_token":"bearer-\#(number)","expires_in":3599,"token_type":"Bearer"}"#)
            }
            self.inbox = inbox
            receiver = try WebhookReceiver { inbox.add($0) }
            let url = "http://127.0.0.1:\(receiver.port)"
            let (file, key) = try folder.serviceAccount(tokenURL: "\(url)/token")
            self.key = key
            var configuration = try PushConfiguration()
            configuration.fcm = try PushConfiguration.FCM(serviceAccountFile: file, url: url)
            pusher = Pusher(configuration)
        }

        var tokens: [WebhookReceiver.Post] { inbox.all.filter { $0.target == "/token" } }
        var messages: [WebhookReceiver.Post] { inbox.all.filter { $0.target != "/token" } }

        func stop() async {
            await pusher.push.close(drainSeconds: 0)
            receiver.stop()
        }
    }

    @Test("FCM gets a message with texts only, signed in by the service account, whose token is asked for once")
    func fcm() async throws {
        let google = try Google(try Folder())
        let targets = (0..<20).map { PushTarget.fcm(token: "token-\($0)") }
        #expect(await google.pusher.outcomes(targets) == targets.map { _ in .taken(status: 200) })
        #expect(google.tokens.count == 1 && google.messages.count == 20)
        let form = String(decoding: try #require(google.tokens.first).body, as: UTF8.self)
        #expect(form.hasPrefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="))
        let token = try #require(ReadToken(form.split(separator: "=").last.map(String.init)))
        #expect(token.head["alg"] as? String == "RS256" && token.head["kid"] as? String == "k1")
        #expect(token.claims["scope"] as? String == "https://www.googleapis.com/auth/firebase.messaging")
        #expect(token.claims["aud"] as? String == "http://127.0.0.1:\(google.receiver.port)/token")
        let (iat, exp) = (try #require(token.claims["iat"] as? Int64), try #require(token.claims["exp"] as? Int64))
        #expect(exp - iat <= 3600)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: token.signature)
        #expect(google.key.isValidSignature(signature, for: token.signed, padding: .insecurePKCS1v1_5))
        let post = try #require(google.messages.first)
        #expect(post.target == "/v1/projects/my-project/messages:send" && post["Authorization"] == "Bearer bearer-1")
        let message = try #require(try JSONValue.parse(post.body).asObject?["message"]?.asObject)
        #expect(message.keys == ["token", "data", "notification", "android"])
        #expect(message["data"]?.asObject?["matchId"]?.asString == Pusher.id)
        #expect(message["data"]?.asObject?.members.allSatisfy { $0.value.asString != nil } == true)
        #expect(message["notification"]?.asObject?["title"]?.asString == "T")
        #expect(message["android"]?.asObject?["priority"]?.asString == "HIGH")
        #expect(message["android"]?.asObject?["ttl"]?.asString?.hasSuffix("s") == true)
        // Before it ends, another is asked for.
        google.pusher.moment.monotonic += 3_500_000
        _ = await google.pusher.outcome(targets[0])
        #expect(google.tokens.count == 2)
        await google.stop()
    }

    struct GoogleAnswer: CustomTestStringConvertible {
        var status: Int
        var body: String
        var word: String
        var requests = 1
        var testDescription: String { "\(status) \(body)" }

        init(_ status: Int, code: String? = nil, state: String = "X", _ word: String, requests: Int = 1) {
            self.status = status
            self.word = word
            self.requests = requests
            let details = code.map {
                #","details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}]"#
            }
            body = #"{"error":{"code":\#(status),"status":"\#(state)","message":"m"\#(details ?? "")}}"#
        }
    }

    @Test(
        "Each answer of FCM means one thing",
        arguments: [
            GoogleAnswer(404, code: "UNREGISTERED", "gone"), GoogleAnswer(404, state: "UNREGISTERED", "gone"),
            GoogleAnswer(404, state: "NOT_FOUND", "misconfigured"), GoogleAnswer(403, code: "SENDER_ID_MISMATCH", "gone"),
            GoogleAnswer(403, state: "PERMISSION_DENIED", "misconfigured"),
            GoogleAnswer(401, state: "UNAUTHENTICATED", "misconfigured", requests: 2),
            GoogleAnswer(401, code: "THIRD_PARTY_AUTH_ERROR", "misconfigured"),
            GoogleAnswer(400, code: "INVALID_ARGUMENT", "misconfigured"),
            GoogleAnswer(429, code: "QUOTA_EXCEEDED", "failed 60000"), GoogleAnswer(500, code: "INTERNAL", "failed 60000"),
            GoogleAnswer(503, code: "UNAVAILABLE", "failed 60000"),
        ])
    func fcmAnswers(_ row: GoogleAnswer) async throws {
        let google = try Google(
            try Folder(), send: { _ in .status(row.status, headers: [("Retry-After", "60")], body: row.body) })
        let outcome = await google.pusher.outcome(.fcm(token: "t"))
        let word =
            switch outcome {
            case .gone: "gone"
            case .misconfigured: "misconfigured"
            case .failed(_, let retryAfter): "failed \(retryAfter ?? 0)"
            default: "\(String(describing: outcome))"
            }
        #expect(word == row.word && google.messages.count == row.requests && google.tokens.count == row.requests)
        await google.stop()
    }

    @Test("A token service that refuses the account, is away or talks nonsense is distinguished, and asked again")
    func tokenService() async throws {
        let google = try Google(
            try Folder(),
            token: { number in
                switch number {
                case 1: .status(400, body: #"{"error":"invalid_grant"}"#)
                case 2: .status(503, headers: [("Retry-After", "5")])
                case 3: .status(200, body: "<html>")
                case 4: .status(200, body: #"{"access_token":"a\nb"}"#)
                default: nil
                }
            })
        var outcomes: [PostOutcome?] = []
        for _ in 0..<5 {
            outcomes.append(await google.pusher.outcome(.fcm(token: "t")))
            google.pusher.moment.monotonic += 2000
        }
        #expect(
            outcomes == [
                .misconfigured(reason: "FCM's token service answered 400 invalid_grant"),
                .failed(reason: "FCM's token service answered 503", retryAfter: 5000),
                .failed(reason: "FCM's token service gave no token", retryAfter: nil),
                .failed(reason: "FCM's token service gave no token", retryAfter: nil), .taken(status: 200),
            ])
        await google.stop()
    }

    @Test("What is not configured is the operator's fault")
    func missing() async throws {
        let pusher = Pusher(try PushConfiguration())
        #expect(await pusher.outcome(.fcm(token: "t")) == .misconfigured(reason: "`push.fcm` is not configured any more"))
        await pusher.push.close(drainSeconds: 0)
    }

    // MARK: APNs

    /// Apple's service, as node speaks HTTP/2.
    private final class Apple: Sendable {
        let companion: Companion
        let pusher: Pusher

        /// - Parameter expiry: When the certificate ends; nil: in days.
        init(
            _ folder: Folder, trusted: Bool = true, until expiry: Date? = nil, kind: String = "",
            _ adjust: (inout Push.Limits) -> Void = { _ in }
        ) async throws {
            let (certificate, key) = (try folder.file("c.pem"), try folder.file("k.pem"))
            if let expiry {
                try Self.makeCertificate(in: folder, until: expiry)
            } else {
                try Companion.run([
                    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate,
                ])
            }
            let provider = P256.Signing.PrivateKey()
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Support/apns.mjs")
                .path
            companion = try Companion([
                "node", script, certificate, key, try folder.file("provider.pem", provider.publicKey.pemRepresentation),
                "TEAM123456",
                "KEY1234567", "org.example.app", kind,
            ])
            let port = try #require(await companion.line(0)["port"] as? Int)
            var configuration = try PushConfiguration(caFile: trusted ? certificate : nil)
            configuration.apns = try PushConfiguration.APNs(
                teamID: "TEAM123456", keyID: "KEY1234567", keyFile: folder.file("AuthKey.p8", provider.pemRepresentation),
                topic: "org.example.app", isSandbox: false, url: "https://localhost:\(port)/")
            pusher = Pusher(configuration, adjust)
        }

        /// As above, for less than a day: only an authority of openssl's may say until when.
        private static func makeCertificate(in folder: Folder, until expiry: Date) throws {
            func time(_ date: Date) -> String {
                let formatter = DateFormatter()
                (formatter.locale, formatter.timeZone) = (Locale(identifier: "en_US_POSIX"), TimeZone(identifier: "UTC"))
                formatter.dateFormat = "yyMMddHHmmss'Z'"
                return formatter.string(from: date)
            }
            let names = """
                [ca]
                default_ca = a
                [a]
                database = \(try folder.file("index", ""))
                serial = \(try folder.file("serial", "01\n"))
                new_certs_dir = \(folder.path)
                default_md = sha256
                policy = p
                x509_extensions = e
                [p]
                commonName = supplied
                [e]
                subjectAltName = DNS:localhost,IP:127.0.0.1
                [req]
                distinguished_name = n
                [n]
                """
            let (file, request, key) = (try folder.file("ca.cnf", names), try folder.file("r.csr"), try folder.file("k.pem"))
            try Companion.run([
                "openssl", "req", "-new", "-config", file, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj",
                "/CN=localhost", "-keyout", key, "-out", request,
            ])
            let status = try Companion.run([
                "openssl", "ca", "-batch", "-selfsign", "-notext", "-config", file, "-keyfile", key, "-in", request, "-out",
                folder.file("c.pem"), "-startdate", time(expiry - 86_400), "-enddate", time(expiry),
            ])
            try #require(status == 0)
        }

        func stop() async {
            await pusher.push.close(drainSeconds: 0)
            companion.stop()
        }
    }

    @Test(
        "APNs gets what Apple wants over HTTP/2, with one token for many messages",
        .enabled(if: Companion.hasNode, "it needs node"))
    func apns() async throws {
        let apple = try await Apple(try Folder())
        let targets = (0..<50).map { PushTarget.apns(token: "0a1b\($0)") }
        #expect(await apple.pusher.outcomes(targets) == targets.map { _ in .taken(status: 200) })
        #expect(await apple.pusher.outcomes([targets[0]], notification: "") == [.taken(status: 200)])
        let long =
            #","notification":{"title":"\#(String(repeating: "é", count: 256))","body":"\#(String(repeating: "\u{1}🏠", count: 1024))"}"#
            .replacing("\u{1}", with: "\\u0001")
        #expect(await apple.pusher.outcomes([targets[0]], notification: long) == [.taken(status: 200)])
        var authorizations: Set<String> = []
        for index in 1...52 {
            let line = await apple.companion.line(index)
            #expect((line["wrong"] as? [String])?.isEmpty == true, "\(line)")
            #expect(line["id"] as? String == Pusher.id)
            #expect((line["content"] as? [String: Any])?["matchId"] as? String == Pusher.id)
            authorizations.insert(line["authorization"] as? String ?? "")
        }
        #expect(authorizations.count == 1)
        // After 50 minutes another one is made.
        apple.pusher.moment.monotonic += 51 * 60_000
        apple.pusher.moment.wall += 51 * 60_000
        _ = await apple.pusher.outcome(targets[0])
        #expect(await apple.companion.line(53)["authorization"] as? String != authorizations.first)
        await apple.stop()
    }

    @Test("Each failure of APNs means one thing, and stops nothing", .enabled(if: Companion.hasNode, "it needs node"))
    func apnsFailures() async throws {
        let apple = try await Apple(try Folder()) { $0.postMilliseconds = 1500 }
        let gone = ["410-Unregistered", "410-ExpiredToken", "400-BadDeviceToken", "400-DeviceTokenNotForTopic"]
        let faults = [
            "403-InvalidProviderToken", "403-BadEnvironmentKeyIdInToken", "403-BadEnvironmentKeyInToken",
            "403-UnrelatedKeyIdInToken",
            "403-Forbidden", "400-MissingTopic", "400-TopicDisallowed",
        ]
        let again = ["429-TooManyRequests", "429-TooManyProviderTokenUpdates", "500-InternalServerError", "503-Shutdown"]
        for (names, word) in [(gone, "gone"), (faults, "misconfigured"), (again, "failed"), (["413-PayloadTooLarge"], "refused")]
        {
            let outcomes = await apple.pusher.outcomes(names.map { .apns(token: "status-\($0)") })
            for (name, outcome) in zip(names, outcomes) { #expect("\(String(describing: outcome))".contains(word), "\(name)") }
        }
        #expect(
            await apple.pusher.outcome(.apns(token: "status-503-ServiceUnavailable"))
                == .failed(reason: "APNs answered 503 ServiceUnavailable", retryAfter: 7000))
        #expect(await apple.pusher.outcome(.apns(token: "expired-once")) == .taken(status: 200))
        #expect(
            await apple.pusher.outcome(.apns(token: "status-403-ExpiredProviderToken"))
                == .misconfigured(reason: "APNs answered 403 ExpiredProviderToken"))
        let broken = await apple.pusher.outcomes(["silence", "reset", "flood"].map { .apns(token: $0) })
        for outcome in broken { #expect("\(String(describing: outcome))".contains("failed"), "\(String(describing: outcome))") }
        #expect(await apple.pusher.outcome(.apns(token: "goaway")) == .taken(status: 200))
        #expect(await apple.pusher.outcome(.apns(token: "after")) == .taken(status: 200))
        let cut = await apple.pusher.outcomes(["cut", "cut"].map { .apns(token: $0) })
        for outcome in cut { #expect("\(String(describing: outcome))".contains("failed")) }
        #expect(await apple.pusher.outcome(.apns(token: "after")) == .taken(status: 200))
        await apple.stop()
    }

    @Test("More messages than a connection holds at once all arrive on it", .enabled(if: Companion.hasNode, "it needs node"))
    func many() async throws {
        let apple = try await Apple(try Folder())
        let body = #","notification":{"title":"T","body":"\#(String(repeating: "b", count: 3500))"}"#
        let targets = (0..<300).map { PushTarget.apns(token: "many\($0)") }
        #expect(await apple.pusher.outcomes(targets, notification: body) == targets.map { _ in .taken(status: 200) })
        #expect(await apple.companion.line(300)["session"] as? Int == 1)
        await apple.stop()
    }

    @Test(
        "A connection that brings nothing any more is given up, and one that brings other answers is not",
        .enabled(if: Companion.hasNode, "it needs node"))
    func silent() async throws {
        let apple = try await Apple(try Folder()) { $0.postMilliseconds = 1000 }
        let late = PostOutcome.failed(reason: "APNs: the answer took too long", retryAfter: nil)
        #expect(await apple.pusher.outcomes(["silence", "a"].map { .apns(token: $0) }) == [late, .taken(status: 200)])
        #expect(await apple.pusher.outcome(.apns(token: "silence")) == late)
        #expect(await apple.pusher.outcome(.apns(token: "b")) == .taken(status: 200))
        var sessions: [Int?] = []
        for index in 1...4 { sessions.append(await apple.companion.line(index)["session"] as? Int) }
        #expect(sessions == [1, 1, 1, 2])
        await apple.stop()
    }

    @Test("A server without HTTP/2 is the operator's fault", .enabled(if: Companion.hasNode, "it needs node"))
    func old() async throws {
        let apple = try await Apple(try Folder(), kind: "old")
        #expect(
            await apple.pusher.outcome(.apns(token: "a"))
                == .misconfigured(reason: "`push.apns.url` does not speak HTTP/2"))
        await apple.stop()
    }

    @Test("A certificate that nobody vouches for is a failure", .enabled(if: Companion.hasNode, "it needs node"))
    func untrusted() async throws {
        let apple = try await Apple(try Folder(), trusted: false)
        #expect(await apple.pusher.outcome(.apns(token: "a")) == .failed(reason: "APNs: TLS failed", retryAfter: nil))
        await apple.stop()
    }

    @Test(
        "A certificate that ends while connected costs nothing before the connection ends, then every try says so",
        .enabled(if: Companion.hasNode, "it needs node"))
    func expiring() async throws {
        // Certificates know whole seconds.
        let expiry = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down) + 5)
        let apple = try await Apple(try Folder(), until: expiry)
        #expect(await apple.pusher.outcome(.apns(token: "before")) == .taken(status: 200))
        try await Task.sleep(for: .seconds(max(0, expiry.timeIntervalSinceNow + 1)))
        #expect(await apple.pusher.outcome(.apns(token: "behind")) == .taken(status: 200))
        let cut = await apple.pusher.outcome(.apns(token: "cut"))
        #expect("\(String(describing: cut))".contains("failed"))
        for _ in 0..<2 {
            #expect(
                await apple.pusher.outcome(.apns(token: "after")) == .failed(reason: "APNs: TLS failed", retryAfter: nil))
        }
        await apple.stop()
    }

    @Test("An endpoint of a browser that never answers, or never ends to, costs its own time only")
    func endless() async throws {
        let inbox = Inbox { post in
            switch post.target {
            case "/silence": .silence
            case "/flood": .flood(201)
            case "/dribble": .dribble(503)
            case "/hang-up": .hangUp
            default: .status(201)
            }
        }
        let receiver = try WebhookReceiver { inbox.add($0) }
        defer { receiver.stop() }
        let pusher = Pusher(try Self.web(try Folder())) { $0.postMilliseconds = 1000 }
        let paths = ["/silence", "/flood", "/dribble", "/hang-up", "/p/1"]
        let targets = try paths.map { try Self.browser(port: receiver.port, path: $0).target }
        #expect(
            await pusher.outcomes(targets) == [
                .failed(reason: "the push service: the answer took too long", retryAfter: nil), .taken(status: 201),
                .failed(reason: "the push service answered 503", retryAfter: nil),
                .failed(reason: "the push service: the connection was closed before an answer", retryAfter: nil),
                .taken(status: 201),
            ])
        await pusher.push.close(drainSeconds: 0)
    }

    // MARK: Another implementation

    @Test(
        "What browsers get is opened by http-ece, and its signature found right by py-vapid",
        .enabled(
            if: ProcessInfo.processInfo.environment["GEOMATCH_TEST_ALL"] != nil, "it installs packages; deploy/test --all has it")
    )
    func judged() async throws {
        let folder = try Folder()
        try #require(try Companion.run(["python3", "-m", "venv", "\(folder.path)/venv"]) == 0)
        try #require(try Companion.run(["\(folder.path)/venv/bin/pip", "install", "-q", "http-ece", "py-vapid"]) == 0)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Support/judge.py").path
        let judge = try Companion(["\(folder.path)/venv/bin/python", script])
        let inbox = Inbox()
        let receiver = try WebhookReceiver { inbox.add($0) }
        let pusher = Pusher(try Self.web(folder))
        for index in 0..<20 {
            let (target, key) = try Self.browser(port: receiver.port)
            _ = await pusher.outcome(target)
            let post = inbox.all[index]
            judge.send(
                #"{"body":"\#(Base64URL.encode(post.body))","private":"\#(Base64URL.encode(Array(key.rawRepresentation)))","auth":"AAECAwQFBgcICQoLDA0ODw","authorization":"\#(post["Authorization"] ?? "")"}"#
            )
            let line = await judge.line(index)
            let text = try JSONValue.parse(try #require(line["text"] as? String)).asObject
            #expect(text?["matchId"]?.asString == Pusher.id && text?["notification"]?.asObject?["body"]?.asString == "B")
            #expect(line["verified"] as? Bool == true)
        }
        judge.stop()
        await pusher.push.close(drainSeconds: 0)
        receiver.stop()
    }
}

/// What a receiver was sent.
final class Inbox: Sendable {
    private let posts = Mutex<[WebhookReceiver.Post]>([])
    private let reply: @Sendable (WebhookReceiver.Post) -> WebhookReceiver.Reply

    init(_ reply: @escaping @Sendable (WebhookReceiver.Post) -> WebhookReceiver.Reply = { _ in .status(201) }) {
        self.reply = reply
    }

    func add(_ post: WebhookReceiver.Post) -> WebhookReceiver.Reply {
        posts.withLock { $0.append(post) }
        return reply(post)
    }

    var all: [WebhookReceiver.Post] { posts.withLock { $0 } }
}
