// Small steps from Swift values to parameters, so that each draft reads as a list of its names.

extension [String: PropertyValue] {
    mutating func put(_ key: String, _ text: String?) { if let text { self[key] = .string(text) } }
    mutating func put(_ key: String, _ number: Double?) { if let number { self[key] = .number(number) } }
    mutating func put(_ key: String, _ number: Int?) { if let number { self[key] = .integer(Int64(number)) } }
    mutating func put(_ key: String, _ flag: Bool?) { if let flag { self[key] = .bool(flag) } }
    mutating func put(_ key: String, _ texts: [String]?) { if let texts { self[key] = .array(texts.map { .string($0) }) } }
    mutating func put(_ key: String, _ location: GeoLocation?) { if let location { self[key] = .object(location.properties) } }
    mutating func put(_ key: String, _ members: [String: PropertyValue]?) { if let members { self[key] = .object(members) } }
    /// Seconds.
    mutating func put(_ key: String, seconds: Duration?) {
        if let seconds { self[key] = .number(Double(seconds.milliseconds) / 1000) }
    }

    func required(_ key: String) throws(GeomatchError) -> String {
        guard let text = self[key]?.stringValue else { throw .malformed(key, "is not a string") }
        return text
    }

    func required(number key: String) throws(GeomatchError) -> Double {
        guard let number = self[key]?.doubleValue else { throw .malformed(key, "is not a number") }
        return number
    }

    func strings(_ key: String) -> [String] { (self[key]?.arrayValue ?? []).compactMap(\.stringValue) }
}
