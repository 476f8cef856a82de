import Wire
import Records

/// What a pushed document says of itself that a request would be given: when a request is carried out for one, this takes the place.
struct PushStamp {
    var revision: String
    var owner: String?
    var createdAt: Int64?
    var updatedAt: Int64?
    /// Only the checks are wanted.
    var isTrial = false
}

extension Call {
    /// The checks are done, and nothing else was asked for.
    var endsBeforeEffects: Bool { stamp?.isTrial == true }
    var owner: String? { stamp == nil ? client.name : stamp?.owner }
    /// Not ahead of now.
    var createdAt: Int64 { stamp?.createdAt.map { min($0, now) } ?? now }
    var updatedAt: Int64 { stamp?.updatedAt.map { min($0, now) } ?? now }

    /// The revision of what is written, the object being given as it will be.
    func revision(after former: String?, content: [UInt8]) -> String {
        stamp?.revision ?? Revision.next(after: former, content: content)
    }
}
