import Datasets
import HTTPTypes

// OPTIONS, and what pages of other origins may read.

extension HTTPResponder {
    /// What lets a page of a configured origin read the answer.
    func crossOrigin(_ head: RequestHead) -> HTTPFields {
        if head.isMatchmore { return [.accessControlAllowOrigin: "*"] }
        guard let origin = head.origin, door.callers.origins.allow(origin) else { return [:] }
        var fields: HTTPFields = [.accessControlAllowOrigin: origin, .vary: "Origin"]
        // PouchDB's requests carry credentials always.
        if head.path.first == "couch" { fields[.accessControlAllowCredentials] = "true" }
        return fields
    }

    /// What a path offers; nil where its own requests say so.
    func options(_ head: RequestHead) throws -> HTTPAnswer? {
        if head.fields[.accessControlRequestMethod] != nil { return preflight(head) }
        if head.isMatchmore { return nil }
        guard let methods = methods(of: head) else {
            throw HTTPRefusal.noPath("/" + head.path.joined(separator: "/")).shaped(for: head)
        }
        return .offer(methods)
    }

    private func methods(of head: RequestHead) -> String? {
        let path = head.path
        switch (path.first, path.count) {
        case ("healthz", 1), ("readyz", 1), ("metrics", 1), ("openapi.json", 1), ("", 1): return "GET, HEAD"
        case ("page", 2): return door.page.file(path[1]).map { _ in "GET, HEAD" }
        case ("page", 5) where path[1] == "tiles": return "GET, HEAD"
        case ("api", 4): return RequestTable.row(of: "\(path[2])/\(path[3])")?.methods
        case ("api", 3) where path[2] == "live": return "POST"
        case ("api", 3) where ["events", "socket"].contains(path[2]): return "GET"
        case ("api", 9) where path[2] == "live": return "POST, DELETE"
        case ("mqtt", 1): return door.configuration.broker.map { _ in "GET" }
        case ("in", 2): return Self.phoneMethods[path[1]]
        case ("couch", _): return Self.couchMethods(head)
        default: return head.isMatchSocket ? "GET" : nil
        }
    }

    private func preflight(_ head: RequestHead) -> HTTPAnswer {
        var answer = HTTPAnswer.empty(.noContent)
        if head.isMatchmore {
            answer.fields[.accessControlAllowMethods] = "GET, HEAD, POST, PATCH, DELETE"
            answer.fields[.accessControlAllowHeaders] =
                "api-key, Authorization, Content-Type, Accept, Cache-Control, X-Requested-With, Geomatch-Client"
            answer.fields[.accessControlMaxAge] = "600"
            return answer
        }
        guard let origin = head.origin, door.callers.origins.allow(origin) else {
            answer.fields[.allow] = "GET, HEAD, POST, PUT, DELETE, OPTIONS"
            return answer
        }
        answer.fields[.accessControlAllowMethods] = "GET, HEAD, POST, PUT, DELETE"
        answer.fields[.accessControlAllowHeaders] =
            "Authorization, Content-Type, api-key, Idempotency-Key, Geomatch-Client, Last-Event-ID"
        answer.fields[.accessControlMaxAge] = "600"
        return answer
    }
}

extension HTTPAnswer {
    /// The methods of a path.
    static func offer(_ methods: String) -> HTTPAnswer {
        var answer = HTTPAnswer.empty(.noContent)
        answer.fields[.allow] = "\(methods), OPTIONS"
        return answer
    }
}
