internal import Foundation
internal import Wire

/// The members of a document as they are in the file.
enum Members {
    static func parse(_ content: Data) throws(GeomatchError) -> JSONObject {
        do throws(JSONError) {
            return try JSONValue.parse(Array(content)).asObject ?? JSONObject()
        } catch {
            throw GeomatchError(.file, "the local store holds a damaged document: \(error.message)")
        }
    }

    /// Without what has columns of its own.
    static func content(_ object: JSONObject) -> Data {
        var rest = object
        for key in ["id", "type", "revision", "parent", "deleted"] { rest[key] = nil }
        return Data(JSONValue.object(rest).serialised())
    }
}
