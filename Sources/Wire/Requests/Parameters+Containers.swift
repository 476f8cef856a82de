extension Parameters {
    /// A list of so many values.
    public func array(_ key: String, count: ClosedRange<Int> = 0...Int.max) throws(WireError) -> [JSONValue] {
        try required(key, try optionalArray(key, count: count))
    }

    /// A list of so many values, nil where it is absent.
    public func optionalArray(_ key: String, count: ClosedRange<Int> = 0...Int.max) throws(WireError) -> [JSONValue]? {
        guard let value = value(key) else { return nil }
        guard let elements = value.asArray else { throw error(key, "must be an array", not: value) }
        try check(key, elements.count, in: count, "entries")
        return elements
    }

    /// A nested object.
    public func nested(_ key: String) throws(WireError) -> Parameters {
        try required(key, try optionalNested(key))
    }

    /// A nested object, nil where it is absent. Errors about its members name the way to them.
    public func optionalNested(_ key: String) throws(WireError) -> Parameters? {
        guard let value = value(key) else { return nil }
        guard let object = value.asObject else { throw error(key, "must be an object", not: value) }
        return Parameters(object, path: "\(path)\(key).")
    }
}
