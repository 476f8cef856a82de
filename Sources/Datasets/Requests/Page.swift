import Wire

/// One page of a list: `limit` and `after` of the request, and a reply below 256 KiB.
struct Page {
    static let maximum = 1000
    /// Leaves room for the envelope of the reply.
    static let maximumBytes = 255 << 10

    var limit: Int
    var after: String?

    init(_ parameters: Parameters) throws(WireError) {
        limit = try parameters.listLimit()
        after = try parameters.optionalString("after", characters: 1...256)
    }

    /// These ids in order, behind `after`.
    func ids(_ all: some Sequence<String>) -> ArraySlice<String> {
        let ordered = all.sorted()
        guard let after else { return ordered[...] }
        return ordered[(ordered.firstIndex { $0 > after } ?? ordered.endIndex)...]
    }

    /// `{"<name>":[…],"next"?}`; `next` is the last id shown, where there is more.
    ///
    /// - Parameter item: The object of an id as JSON, or nil where the client may not see it.
    func encode(_ name: String, _ ids: ArraySlice<String>, item: (String) -> [UInt8]?) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key(name)
        writer.beginArray()
        var count = 0
        var last: String?
        var next: String?
        for id in ids {
            guard let object = item(id) else { continue }
            if count == limit || (count > 0 && writer.bytes.count + object.count > Self.maximumBytes) {
                next = last
                break
            }
            writer.raw(object)
            count += 1
            last = id
        }
        writer.endArray()
        writer.member("next", optional: next)
        writer.endObject()
        return writer.bytes
    }
}
