import Crypto
import CryptoExtras
import Datasets
import Foundation
import Posting
import Synchronization
import WebhookReceiver

@testable import Push

/// Push, and what became of the posts.
final class Pusher: Sendable {
    private struct State {
        var results: [UInt64: PostOutcome] = [:]
        var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
        var moment = Moment(wall: WallClock.now(), monotonic: 0)
    }

    private let state = Mutex(State())
    private let inner = Mutex<Push?>(nil)

    var push: Push { inner.withLock { $0! } }

    init(_ configuration: PushConfiguration, allowsPrivate: Bool = true, _ adjust: (inout Push.Limits) -> Void = { _ in }) {
        var limits = Push.limits
        adjust(&limits)
        let push = Push(
            configuration, policy: AddressPolicy(allowsPrivate: allowsPrivate), limits: limits, resolver: NameResolver(),
            clock: { [weak self] in self?.moment ?? Moment(wall: 0, monotonic: 0) }
        ) { [weak self] in self?.take() }
        inner.withLock { $0 = push }
    }

    var moment: Moment {
        get { state.withLock { $0.moment } }
        set { state.withLock { $0.moment = newValue } }
    }

    private func take() {
        let results = push.collect()
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            for result in results { state.results[result.token] = result.outcome }
            guard let waiter = state.waiter, state.results.count >= waiter.count else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        waiter?.resume()
    }

    static let id = "0f8b7c1e-52d3-4c3a-9d07-3b1f0a7c9e11"

    static func post(
        _ target: PushTarget, token: UInt64 = 1, notification: String = #","notification":{"title":"T","body":"B"}"#
    ) -> PushPost {
        PushPost(
            token: token, target: target, id: id,
            message: Array(
                #"{"matchId":"\#(id)","deviceId":"phone","subscriptionId":"s","topic":"coffee","event":"matched"\#(notification)}"#
                    .utf8),
            pair: "a b", expiresAt: WallClock.now() + 3_600_000)
    }

    /// Posts at once, and waits for what becomes of them, in order.
    func outcomes(_ targets: [PushTarget], notification: String? = nil) async -> [PostOutcome?] {
        state.withLock { $0.results.removeAll() }
        push.post(
            targets.enumerated().map { index, target in
                if let notification { return Self.post(target, token: UInt64(index), notification: notification) }
                return Self.post(target, token: UInt64(index))
            })
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.results.count >= targets.count { return true }
                state.waiter = (targets.count, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
        return state.withLock { state in targets.indices.map { state.results[UInt64($0)] } }
    }

    func outcome(_ target: PushTarget) async -> PostOutcome? { await outcomes([target])[0] }
}

/// Files of one test.
final class Folder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "push-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String, _ text: String? = nil) throws -> String {
        let file = "\(path)/\(name)"
        if let text { try text.write(toFile: file, atomically: true, encoding: .utf8) }
        return file
    }

    /// A service account whose tokens come from a URL.
    func serviceAccount(tokenURL: String) throws -> (file: String, key: _RSA.Signing.PublicKey) {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let members = [
            "type": "service_account", "project_id": "my-project", "private_key_id": "k1", "private_key": key.pemRepresentation,
            "client_email": "push@my-project.iam.gserviceaccount.com", "token_uri": tokenURL,
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
        return (try file("account.json", text), key.publicKey)
    }
}

/// Parts of a token.
struct ReadToken {
    var head: [String: Any]
    var claims: [String: Any]
    var signed: [UInt8]
    var signature: [UInt8]

    init?(_ text: String?) {
        let parts = (text ?? "").split(separator: ".").map(String.init)
        guard parts.count == 3, let head = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { return nil }
        (self.head, self.claims, self.signature) = (head, claims, signature)
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: String) -> [String: Any]? {
        Base64URL.decode(part).flatMap { (try? JSONSerialization.jsonObject(with: Data($0))) as? [String: Any] }
    }
}
