import Datasets
import LiveTopics
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

/// The `sub` of a JSON Web Token (RFC 7519), whoever signed it.
enum JWTSubject {
    static func read(_ token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(String(parts[1])) else { return nil }
        let subject = try? JSONParser().read(bytes) { root throws(WireError) in
            // One that was made here, and is no key any more.
            root["client"] == nil || root["jti"] == nil ? root["sub"]?.asString : nil
        }
        return (subject ?? nil).flatMap { $0.isEmpty ? nil : $0 }
    }
}
