/// One property of a known domain that is not the position.
struct PropertyRule {
    enum Kind {
        case number
        case integer
        /// An integer from 0 on.
        case natural
        case boolean
    }

    var name: StaticString
    var alias: StaticString?
    var kind: Kind
    var isRequired: Bool

    static func rules(of domain: KnownDomain) -> [PropertyRule] {
        switch domain {
        case .occupancy: occupancy
        case .availability: availability
        case .count: count
        case .temperature: temperature
        case .co2: co2
        case .humidity: humidity
        case .position, .proximity, .presence: []
        }
    }

    private static let occupancy = [
        PropertyRule(name: "nrOfPeople", alias: "numberOfPeople", kind: .natural, isRequired: true),
        PropertyRule(name: "capacity", kind: .natural, isRequired: false),
    ]
    private static let availability = [PropertyRule(name: "available", kind: .boolean, isRequired: true)]
    private static let count = [PropertyRule(name: "count", kind: .integer, isRequired: true)]
    private static let temperature = [PropertyRule(name: "temperature", kind: .number, isRequired: true)]
    private static let co2 = [PropertyRule(name: "co2", kind: .number, isRequired: true)]
    private static let humidity = [PropertyRule(name: "humidity", kind: .number, isRequired: true)]

    func isNamed(by key: JSONNode) -> Bool {
        key.isEqual(to: name) || alias.map { key.isEqual(to: $0) } ?? false
    }

    /// The value in native form, or the error that it has the wrong type.
    func write(_ value: JSONNode, sentAs field: String, into writer: inout JSONWriter) throws(WireError) {
        switch kind {
        case .number:
            guard let number = value.number else { throw value.error(field, "a number") }
            writer.double(number)
        case .integer:
            guard let whole = value.wholeNumber else { throw value.error(field, "a whole number") }
            writer.integer(whole)
        case .natural:
            guard let whole = value.wholeNumber, whole >= 0 else { throw value.error(field, "a whole number from 0 on") }
            writer.integer(whole)
        case .boolean:
            guard let truth = value.truth else { throw value.error(field, "true or false") }
            writer.bool(truth)
        }
    }

    /// - Parameter object: What it is missing in: some of its keys are named.
    func missing(in object: JSONNode) -> WireError {
        let name = "\(name)"
        let keys = Array(
            object.members.lazy.compactMap { key, value in
                value.kind == .null || PropertyReader.isEnvelope(key) ? nil : key.asString
            }.prefix(20))
        let advice =
            if let near = Nearness.nearest(to: name, of: keys) {
                ", not `\(near.beginning(32))`"
            } else if !keys.isEmpty {
                "; there is " + keys.prefix(3).map { "`\($0.beginning(32))`" }.joined(separator: ", ")
            } else {
                ""
            }
        return WireError(.invalid, "`\(name)` is required\(advice)", field: name)
    }
}

/// Reads objects whose properties are given by rules, and free ones.
enum PropertyReader {
    static func read(
        _ object: JSONNode, rules: [PropertyRule], into writer: inout JSONWriter
    ) throws(WireError) -> LiveUpdate {
        let update = try envelope(of: object)
        writer.beginObject()
        for rule in rules {
            guard let (field, value) = given(rule, in: object) else {
                if rule.isRequired { throw rule.missing(in: object) }
                continue
            }
            writer.key(plain: rule.name)
            try rule.write(value, sentAs: field, into: &writer)
        }
        writeExtras(of: object, into: &writer) { key in
            isEnvelope(key) || rules.contains { $0.isNamed(by: key) }
        }
        writer.endObject()
        return update
    }

    static func readFree(_ object: JSONNode, into writer: inout JSONWriter) throws(WireError) -> LiveUpdate {
        let update = try envelope(of: object)
        for (key, value) in object.members where !value.isPlain && !isEnvelope(key) {
            throw value.error(key.asString ?? "", "a scalar or an array of scalars")
        }
        writer.beginObject()
        writeExtras(of: object, into: &writer, except: isEnvelope)
        writer.endObject()
        return update
    }

    /// Writes the members that count and that `isKnown` does not name: scalars and arrays of scalars; what is nested
    /// or `null` is left out.
    static func writeExtras(of object: JSONNode, into writer: inout JSONWriter, except isKnown: (JSONNode) -> Bool) {
        let order = MemberOrder(object)
        for (key, value) in object.members
        where value.kind != .null && value.isPlain && !isKnown(key) && order.isLast(key) {
            writer.key(utf8: key.utf8)
            writer.plain(value)
        }
    }

    /// The parts of an update that are not properties.
    static func envelope(of object: JSONNode) throws(WireError) -> LiveUpdate {
        var update = LiveUpdate()
        if let value = object["timestamp"], value.kind != .null {
            update.timestamp = try value.instant("timestamp", secondsBelow: -.infinity)
        }
        if let value = object["originSourceId"] { update.originSourceId = try originSourceId(value) }
        return update
    }

    /// Some sources number their objects; the number's text is as good an id.
    static func originSourceId(_ value: JSONNode) throws(WireError) -> String? {
        switch value.kind {
        case .null: return nil
        case .string: return value.asString
        case .integer: return value.asInt64.map { String($0) }
        default: throw value.error("originSourceId", "a string")
        }
    }

    static func isEnvelope(_ key: JSONNode) -> Bool {
        key.isEqual(to: "timestamp") || key.isEqual(to: "originSourceId")
    }

    /// The value that counts for a rule and the key it was sent with: the alias only where the name is absent.
    private static func given(_ rule: PropertyRule, in object: JSONNode) -> (String, JSONNode)? {
        let name = "\(rule.name)"
        if let value = object[name], value.kind != .null { return (name, value) }
        guard let alias = rule.alias.map({ "\($0)" }), let value = object[alias], value.kind != .null else { return nil }
        return (alias, value)
    }
}
