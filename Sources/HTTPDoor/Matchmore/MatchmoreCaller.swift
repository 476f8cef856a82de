import Datasets
import LiveTopics
import Records
import Wire

/// Who speaks for a Matchmore client: a world of the old cloud is a dataset.
struct MatchmoreCaller: Equatable, Sendable {
    var world: String
    var caller: Caller

    var client: String { caller.client }
}

extension Callers {
    /// Who asks: the world is the key's dataset.
    ///
    /// The old clients cannot do without a key. Where an address is trusted, any JWT will do: its `sub` names the dataset, and nothing
    /// else.
    func matchmoreCaller(of head: RequestHead) throws(HTTPRefusal) -> MatchmoreCaller {
        let named = head.parameter("dataset")
        let caller: Caller
        do throws(HTTPRefusal) {
            caller = try self.caller(of: head, for: named)
        } catch {
            guard error.status == .unauthorized, let key = head.credentials?.key, let subject = JWTSubject.read(key),
                trusts(head)
            else { throw error }
            let world = named ?? subject
            guard Name.isDataset(world) else { throw error }
            return MatchmoreCaller(world: world, caller: try trusted(head))
        }
        guard let world = caller.dataset ?? named else {
            throw .unauthorized("a key that names the world is required: header `api-key`")
        }
        return MatchmoreCaller(world: world, caller: caller)
    }
}

/// The `sub` of a JSON Web Token (RFC 7519), regardless of who signed it.
enum JWTSubject {
    static func read(_ token: String) -> String? {
        // One that was made here, and is no key any more, names nothing.
        claims(token).flatMap { $0.own != nil || $0.subject.isEmpty ? nil : $0.subject }
    }

    /// Which key a token of ours would be.
    struct Name: Sendable {
        /// ``AccessKeyRecord/anyDataset``: all.
        var dataset: String
        var id: String
    }

    /// nil where the token cannot have been made here.
    static func name(ofOwn token: String) -> Name? {
        claims(token).flatMap { claims in claims.own.map { Name(dataset: claims.subject, id: $0) } }
    }

    private static func claims(_ token: String) -> (subject: String, own: String?)? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(String(Substring(parts[1]))) else { return nil }
        let claims = try? JSONParser().read(bytes) { root throws(WireError) in
            root["sub"]?.asString.map { (subject: $0, own: root["client"] == nil ? nil : root["jti"]?.asString) }
        }
        return claims ?? nil
    }
}
