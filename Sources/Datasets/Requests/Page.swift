import Wire
import Records

/// One page of a list: `limit` and `after` of the request, and a reply below 256 KiB.
struct Page {
    static let maximum = 1000
    /// Leaves room for the envelope of the reply.
    static let maximumBytes = 255 << 10

    var limit: Int
    var after: String?

    init(limit: Int) { self.limit = limit }

    init(_ parameters: Parameters) throws(WireError) {
        limit = try parameters.listLimit()
        after = try parameters.optionalString("after", characters: 1...256)
    }

    /// The page of all elements in the order of their ids.
    func encode<Element>(
        _ name: String, sorting all: some Sequence<Element>, id: (Element) -> String, item: (Element) -> [UInt8]?
    ) -> [UInt8] {
        encode(name, behind(all, id: id), id: id, item: item)
    }

    /// What a page can show at most, and one more where there is.
    func first<Element>(of all: some Sequence<Element>, id: (Element) -> String) -> [Element] {
        Array(behind(all, id: id).prefix(limit + 1))
    }

    private func behind<Element>(_ all: some Sequence<Element>, id: (Element) -> String) -> [Element] {
        let keyed = all.map { (key: ByteKey(id($0)), element: $0) }
        let start = after.map(ByteKey.init)
        return keyed.filter { entry in start.map { $0 < entry.key } ?? true }.sorted { $0.key < $1.key }.map(\.element)
    }

    /// `{"hints"?,"<name>":[…],"next"?}`; `next` is the last id shown, where there is more.
    ///
    /// - Parameters:
    ///   - isCut: There is more behind the elements.
    ///   - item: The element as JSON, or nil where the client may not see it.
    func encode<Element>(
        _ name: String, _ elements: some Sequence<Element>, id: (Element) -> String, hints: [String] = [], isCut: Bool = false,
        item: (Element) -> [UInt8]?
    ) -> [UInt8] {
        JSONWriter.object { writer in
            if !hints.isEmpty { writer.member("hints", hints) }
            writer.key(name)
            writer.beginArray()
            var count = 0
            var last: Element?
            var isMore = isCut
            for element in elements {
                guard let object = item(element) else {
                    // The next page begins behind what is gone.
                    if isCut { last = element }
                    continue
                }
                if count == limit || (count > 0 && writer.bytes.count + object.count > Self.maximumBytes) {
                    isMore = true
                    break
                }
                writer.raw(object)
                count += 1
                last = element
            }
            writer.endArray()
            if isMore, let last { writer.member("next", id(last)) }
        }
    }
}
