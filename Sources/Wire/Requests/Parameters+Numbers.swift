extension Parameters {
    /// A number in a range; `unit` is named in the error, as in "metres".
    public func number(_ key: String, in range: ClosedRange<Double>, unit: String = "") throws(WireError) -> Double {
        try required(key, try optionalNumber(key, in: range, unit: unit))
    }

    /// A number from a lower bound on.
    public func number(_ key: String, in range: PartialRangeFrom<Double>, unit: String = "") throws(WireError) -> Double {
        try required(key, try optionalNumber(key, in: range, unit: unit))
    }

    /// A number in a range, nil where it is absent.
    public func optionalNumber(
        _ key: String, in range: ClosedRange<Double>, unit: String = ""
    ) throws(WireError) -> Double? {
        guard let value = value(key) else { return nil }
        guard let number = value.asDouble, range.contains(number) else {
            let isText = value.asString != nil && unit == "seconds"
            throw error(key, "must be \(isText ? "a number of seconds, for example 3600" : rule(range, unit))", not: value)
        }
        return number
    }

    /// A number from a lower bound on, nil where it is absent.
    public func optionalNumber(
        _ key: String, in range: PartialRangeFrom<Double>, unit: String = ""
    ) throws(WireError) -> Double? {
        try optionalNumber(key, in: range.lowerBound...Double.greatestFiniteMagnitude, unit: unit)
    }

    /// A whole number in a range, also written `7.0`.
    public func integer(_ key: String, in range: ClosedRange<Int>, unit: String = "") throws(WireError) -> Int {
        try required(key, try optionalInteger(key, in: range, unit: unit))
    }

    /// A whole number in a range, nil where it is absent.
    public func optionalInteger(
        _ key: String, in range: ClosedRange<Int>, unit: String = ""
    ) throws(WireError) -> Int? {
        guard let value = value(key) else { return nil }
        guard let number = value.asInt64.flatMap({ Int(exactly: $0) }), range.contains(number) else {
            let bounds =
                range.upperBound == .max ? "from \(range.lowerBound) on" : "from \(range.lowerBound) to \(range.upperBound)"
            throw error(key, "must be a whole number \(bounds)\(unit.isEmpty ? "" : " \(unit)")", not: value)
        }
        return number
    }

    /// `limit` of a list: 1…1000, where more means 1000 and absence too.
    public func listLimit(_ key: String = "limit") throws(WireError) -> Int {
        min(try optionalInteger(key, in: 1...Int.max) ?? Self.listLimitMax, Self.listLimitMax)
    }

    private static let listLimitMax = 1000

    public func bool(_ key: String) throws(WireError) -> Bool {
        try required(key, try optionalBool(key))
    }

    /// `true` or `false`, nil where it is absent.
    public func optionalBool(_ key: String) throws(WireError) -> Bool? {
        guard let value = value(key) else { return nil }
        guard let truth = value.asBool else { throw error(key, "must be true or false", not: value) }
        return truth
    }

    private func rule(_ range: ClosedRange<Double>, _ unit: String) -> String {
        let suffix = unit.isEmpty ? "" : " \(unit)"
        if range.upperBound == .greatestFiniteMagnitude { return "at least \(shown(range.lowerBound))\(suffix)" }
        return "from \(shown(range.lowerBound)) to \(shown(range.upperBound))\(suffix)"
    }

    private func shown(_ bound: Double) -> String { JSONValue.double(bound).shown }
}
