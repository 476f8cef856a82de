internal import Foundation
internal import GRDB
internal import Wire

/// Something written here that the daemon has not answered for.
struct OutboxEntry {
    static let columns = "number, type, id, revision, parent, isDeleted, isAside, isSent, content"

    var number: Int64
    var type: String
    var id: String
    var revision: String
    var parent: String?
    var isDeleted: Bool
    var isAside: Bool
    var isSent: Bool
    /// The members as JSON; `{}` for a deletion.
    var content: Data

    init(_ row: Row) {
        number = row[0]
        type = row[1]
        id = row[2]
        revision = row[3]
        parent = row[4]
        isDeleted = row[5]
        isAside = row[6]
        isSent = row[7]
        content = row[8]
    }

    /// The document as it is pushed.
    func document() throws(GeomatchError) -> JSONValue {
        var object = try Members.parse(content)
        object["id"] = .string(id)
        object["type"] = .string(type)
        object["revision"] = .string(revision)
        if let parent { object["parent"] = .string(parent) }
        if isDeleted { object["deleted"] = true }
        return .object(object)
    }
}
