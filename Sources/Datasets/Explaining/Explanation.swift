import Wire
import Records

/// What `match/explain` answers: each rule of matching for one pair, in the order of the reply.
struct Explanation {
    struct Check {
        var name: String
        var passes: Bool
        /// In plain words, with figures.
        var detail: String

        init(_ name: String, _ passes: Bool, _ detail: String) {
            self.name = name
            self.passes = passes
            self.detail = detail
        }
    }

    var checks: [Check]

    /// Whether the pair would match if it were evaluated now.
    var matches: Bool { checks.allSatisfy(\.passes) }

    /// `{"matches":bool,"checks":[{"check","pass","detail"}…]}`
    func encoded() -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("matches", matches)
            checks.encode(into: &writer)
        }
    }
}

extension [Explanation.Check] {
    /// `"checks":[{"check","pass","detail"}…]`
    func encode(into writer: inout JSONWriter) {
        writer.key("checks")
        writer.beginArray()
        for check in self {
            writer.beginObject()
            writer.member("check", check.name)
            writer.member("pass", check.passes)
            writer.member("detail", check.detail)
            writer.endObject()
        }
        writer.endArray()
    }
}
