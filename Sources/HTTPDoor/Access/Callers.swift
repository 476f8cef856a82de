import Crypto
import LiveTopics

/// Who asks, as far as keys and addresses tell.
struct Caller: Equatable, Sendable {
    var client: String
    /// The only dataset it may name; nil: any.
    var dataset: String?
}

/// Tells who asks: a key says it, or an address that is trusted.
struct Callers: Sendable {
    /// By the hash of the key: looking one up takes as long whatever it has in common with another.
    private let keys: [SHA256.Digest: Caller]
    private let trustsLoopback: Bool
    private let origins: OriginPatterns

    init(_ configuration: HTTPDoorConfiguration) {
        trustsLoopback = configuration.trustsLoopback
        origins = configuration.origins
        keys = Dictionary(
            configuration.keys.map { key in
                (Self.hash(key.key), Caller(client: key.client, dataset: key.dataset == "*" ? nil : key.dataset))
            }, uniquingKeysWith: { first, _ in first })
    }

    private static func hash(_ key: String) -> SHA256.Digest { SHA256.hash(data: Array(key.utf8)) }

    /// Who asks; a dataset that is named must be theirs.
    func caller(of head: RequestHead, for dataset: String?) throws(HTTPRefusal) -> Caller {
        guard let credentials = head.credentials else { return try trusted(head) }
        guard credentials.key.utf8.count <= Self.keyBytesMax, let caller = keys[Self.hash(credentials.key)],
            credentials.user.map({ $0 == caller.client }) ?? true
        else { throw .unauthorized("the key is unknown, has expired or was deleted") }
        if let own = caller.dataset, let dataset, own != dataset {
            throw .forbidden("the key is for the dataset `\(own)`, not `\(dataset.prefix(80))`")
        }
        return caller
    }

    private static let keyBytesMax = 4096

    /// Whoever asks from this machine, by a name of this machine and not for a page of somebody else's.
    private func trusted(_ head: RequestHead) throws(HTTPRefusal) -> Caller {
        guard trustsLoopback, head.isFromLoopback else {
            throw .unauthorized("a key is required: `Authorization: Bearer KEY`, `api-key: KEY` or `?key=KEY`")
        }
        try checkPage(head)
        return Caller(client: head.client ?? "http", dataset: nil)
    }

    /// A page of somebody else's must not reach the daemon of whoever looks at it, under whatever name.
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
