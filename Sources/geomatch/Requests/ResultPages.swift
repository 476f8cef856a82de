import Wire

/// The pages of a list, put together.
struct ResultPages {
    /// The page that came last.
    private(set) var last = JSONValue.null
    private var first: JSONObject?
    /// The elements of all pages, by the list's name.
    private var elements: [(name: String, values: [JSONValue])] = []

    /// What the next page begins after; nil after the last one.
    var next: JSONValue? { last.member("next") }

    /// - Throws: `internal` where a page would be followed by itself.
    mutating func add(_ page: JSONValue) throws(CommandFailure) {
        if let next, page.member("next") == next {
            throw .internal("the page after \(PlainText.of(next)) names itself as the next")
        }
        last = page
        guard case .object(let object) = page else { return }
        if first == nil {
            first = object
            elements = object.members.compactMap { member in member.value.asArray == nil ? nil : (member.key, []) }
        }
        for index in elements.indices { elements[index].values += object[elements[index].name]?.asArray ?? [] }
    }

    /// The first page with the lists of all, and without `next`.
    var merged: JSONValue {
        guard var result = first else { return last }
        for (name, values) in elements { result[name] = .array(values) }
        result["next"] = nil
        return .object(result)
    }
}
