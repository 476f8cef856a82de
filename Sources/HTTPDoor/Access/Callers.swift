import Crypto
import Datasets
import LiveTopics
import Synchronization

/// Who asks, as far as keys and addresses say.
struct Caller: Equatable, Sendable {
    var client: String
    /// The only dataset it may name; nil: any.
    var dataset: String?
    /// Of the key that it came with; nil: its address is trusted.
    var keyDigest: [UInt8]?
}

/// The keys and the origins of the configuration file, which a reload may change.
final class FileKeys: Sendable {
    private struct Held {
        /// By digest: looking one up takes as long whatever it has in common with another.
        var keys: [[UInt8]: Caller]
        var origins: OriginPatterns
    }

    private let held: Mutex<Held>
    private let reloads = Atomic(0)

    init(_ keys: [FileKey], origins: OriginPatterns) {
        held = Mutex(Held(keys: Self.callers(keys), origins: origins))
    }

    private static func callers(_ keys: [FileKey]) -> [[UInt8]: Caller] {
        Dictionary(
            keys.map { key in
                let digest = KeySigner.digest(of: key.key)
                return (digest, Caller(client: key.client, dataset: key.dataset == "*" ? nil : key.dataset, keyDigest: digest))
            }, uniquingKeysWith: { first, _ in first })
    }

    /// Takes other keys of the file and other origins.
    func reload(keys: [FileKey], origins: OriginPatterns) {
        let keys = Self.callers(keys)
        held.withLock { $0 = Held(keys: keys, origins: origins) }
        reloads.add(1, ordering: .releasing)
    }

    /// Rises with each reload.
    var reloadCount: Int { reloads.load(ordering: .acquiring) }

    var origins: OriginPatterns { held.withLock { $0.origins } }

    func caller(with key: String) -> Caller? { caller(withDigest: KeySigner.digest(of: key)) }

    func caller(withDigest digest: [UInt8]) -> Caller? { held.withLock { $0.keys[digest] } }

    /// Whether there is a key of a client that is good for a dataset.
    func haveKey(of client: String, for dataset: String) -> Bool {
        held.withLock { held in
            held.keys.values.contains { $0.client == client && ($0.dataset ?? dataset) == dataset }
        }
    }
}

/// Identifies callers, by a key or by an address that is trusted.
final class Callers: Sendable {
    let fileKeys: FileKeys
    private let made: AccessKeys
    private let stored: StoredKeys?
    private let now: @Sendable () -> Int64
    private let trustsLoopback: Bool

    /// - Parameter made: The keys that requests made.
    init(_ configuration: HTTPDoorConfiguration, _ fileKeys: FileKeys, made: AccessKeys, now: @escaping @Sendable () -> Int64) {
        trustsLoopback = configuration.trustsLoopback
        self.fileKeys = fileKeys
        self.made = made
        stored = configuration.storedKeys
        self.now = now
    }

    var origins: OriginPatterns { fileKeys.origins }

    /// Who asks; a dataset that is named must be theirs.
    func caller(of head: RequestHead, for dataset: String?) throws(HTTPRefusal) -> Caller {
        guard let credentials = head.credentials else { return try trusted(head) }
        guard credentials.key.utf8.count <= Self.keyBytesMax, let caller = holder(of: credentials.key),
            credentials.user.map({ $0 == caller.client }) ?? true
        else { throw .unauthorized("the key is unknown, has expired or was deleted") }
        if let own = caller.dataset, let dataset, own != dataset {
            throw .forbidden("the key is for the dataset `\(own)`, not `\(dataset.prefix(80))`")
        }
        return caller
    }

    private func holder(of key: String) -> Caller? {
        let digest = KeySigner.digest(of: key)
        if let caller = fileKeys.caller(withDigest: digest) { return caller }
        let now = now()
        let record = made.use(digest, at: now) ?? stored?.record(withDigest: digest).flatMap { $0.isGood(at: now) ? $0 : nil }
        return record.map { record in
            Caller(client: record.client, dataset: record.isForAll ? nil : record.dataset, keyDigest: digest)
        }
    }

    static let keyBytesMax = 4096

    /// Has a key known that a request may have made at another core.
    func findKey(of head: RequestHead) async throws(HTTPRefusal) {
        guard let stored, let key = head.credentials?.key, key.utf8.count <= Self.keyBytesMax,
            !made.isGood(KeySigner.digest(of: key), at: now())
        else { return }
        guard await stored.find(key) else { throw .unavailable("the store cannot be asked about the key: try again") }
    }

    // MARK: What lasts longer than a request

    /// Whether a caller's key is still one.
    func isGood(_ caller: Caller) -> Bool {
        guard let digest = caller.keyDigest else { return true }
        return made.isGood(digest, at: now()) || fileKeys.caller(withDigest: digest) == caller
            || stored?.recordInUse(withDigest: digest)?.isGood(at: now()) == true
    }

    /// Rises whenever keys are removed.
    var removalCount: Int { made.removalCount + fileKeys.reloadCount + (stored?.removalCount ?? 0) }

    // MARK: Trust

    /// Whether there is a key of a client that is good for a dataset.
    func haveKey(of client: String?, for dataset: String) -> Bool {
        guard let client else { return false }
        return fileKeys.haveKey(of: client, for: dataset) || made.haveKey(of: client, for: dataset, at: now())
    }

    /// Whether no key is needed from where this comes.
    func trusts(_ head: RequestHead) -> Bool { trustsLoopback && head.isFromLoopback }

    /// The caller, if it is on this machine, used a name of this machine and does not ask for a foreign page.
    func trusted(_ head: RequestHead) throws(HTTPRefusal) -> Caller {
        guard trusts(head) else {
            throw .unauthorized("a key is required: `Authorization: Bearer KEY`, `api-key: KEY` or `?key=KEY`")
        }
        try checkPage(head)
        return Caller(client: head.client ?? "http")
    }

    /// A foreign page must not reach the daemon on its viewer's machine, under whatever name.
    func checkPage(_ head: RequestHead) throws(HTTPRefusal) {
        guard head.isForLoopbackHost else {
            throw .forbidden(
                "without a key the `Host` must be a name of this machine, such as localhost, not `\((head.host ?? "").prefix(80))`"
            )
        }
        guard let origin = head.origin else {
            // A page that sends no origin, with an image for example, still says that it is another's.
            guard head.isFromOtherSite else { return }
            throw .forbidden("without a key a page of another site is refused: add its origin to `http.origins`, or use a key")
        }
        guard head.isSameOrigin(origin) || origins.allow(origin) else {
            throw .forbidden(
                "without a key the origin `\(origin.prefix(80))` is refused: add it to `http.origins`, or use a key")
        }
    }
}
