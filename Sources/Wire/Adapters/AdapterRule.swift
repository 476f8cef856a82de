import LiveTopics

/// One entry of the configuration's `adapters`: which messages are read, how, and where what they say goes.
public struct AdapterRule: Equatable, Sendable {
    /// Why an entry cannot be used, as the rest of a sentence about its key.
    public struct Problem: Error, Equatable, Sendable {
        /// Empty for the entry itself.
        public var key: String
        public var text: String

        init(_ text: String, key: String = "") {
            self.key = key
            self.text = text
        }
    }

    /// The keys that an entry has, in the order in which they are shown.
    public static let keys = ["filter", "format", "dataset"] + levelKeys
    /// Those that need not be there.
    static let levelKeys = ["venue", "building", "floor", "room", "location", "domain"]

    /// As in the configuration, the format by its own name.
    public let members: [(key: String, value: String)]
    public let filter: String
    /// The format's own name.
    public let format: String
    let dataset: LevelTemplate
    let levels: [String: LevelTemplate]

    public static func == (left: AdapterRule, right: AdapterRule) -> Bool {
        left.members.elementsEqual(right.members) { $0 == $1 }
    }

    /// - Parameter given: Key and value, as the file has them.
    /// - Throws: What is wrong, with the key, what was read and what is allowed.
    public init(_ given: [(key: String, value: String)]) throws(Problem) {
        for (index, member) in given.enumerated() {
            guard Self.keys.contains(member.key) else {
                throw Problem("there is no such key; the keys are \(Self.keys.joined(separator: ", "))", key: member.key)
            }
            guard !given[..<index].contains(where: { $0.key == member.key }) else {
                throw Problem("is given twice", key: member.key)
            }
        }
        func value(_ key: String) -> String? { given.first { $0.key == key }?.value }
        for key in ["filter", "format", "dataset"] where value(key)?.isEmpty ?? true {
            throw Problem("is required", key: key)
        }
        filter = value("filter") ?? ""
        let wildcardCount = try Self.check(filter: filter)
        let adapter = try Self.adapter(value("format") ?? "")
        format = adapter.format.name
        dataset = try Self.template(value("dataset") ?? "", "dataset", wildcardCount)
        var levels: [String: LevelTemplate] = [:]
        for key in Self.levelKeys {
            if let text = value(key) { levels[key] = try Self.template(text, key, wildcardCount) }
        }
        self.levels = levels
        let format = format
        members = Self.keys.compactMap { key in value(key).map { (key, key == "format" ? format : $0) } }
        try checkDataset()
        try check(domainOf: adapter.format)
    }

    private static func check(filter: String) throws(Problem) -> Int {
        let parsed: TopicFilter
        do throws(TopicFilterError) {
            parsed = try TopicFilter(filter)
        } catch {
            throw Problem("`\(filter.prefix(80))` was read, a filter \(error.message)", key: "filter")
        }
        // It is written into an access list, one line for each.
        guard !filter.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }),
            filter.first != " ", filter.last != " "
        else {
            throw Problem("a filter here has no control characters, and no spaces at its ends", key: "filter")
        }
        guard !filter.hasPrefix("$") else {
            throw Problem("`\(filter.prefix(80))` was read, a filter here must not begin with `$`", key: "filter")
        }
        return parsed.wildcardCount
    }

    private static func adapter(_ name: String) throws(Problem) -> any PayloadAdapter.Type {
        guard let adapter = AdapterFormat.adapter(named: name) else {
            let names = AdapterFormat.all.map { $0.format.name }.joined(separator: ", ")
            throw Problem("`\(name.prefix(80))` was read, allowed is \(names)", key: "format")
        }
        return adapter
    }

    private static func template(_ text: String, _ key: String, _ wildcardCount: Int) throws(Problem) -> LevelTemplate {
        do throws(Problem) {
            return try LevelTemplate(text, wildcardCount: wildcardCount)
        } catch {
            throw Problem(error.text, key: key)
        }
    }

    /// A topic may choose the tenant, as it is guarded by the broker's access list; a payload may not.
    private func checkDataset() throws(Problem) {
        if dataset.isLiteral {
            guard Name.isDataset(dataset.text) else {
                throw Problem(
                    "`\(dataset.text.prefix(80))` was read, allowed is 1 to 64 of A-Z a-z 0-9 . _ -, not live or geomatch",
                    key: "dataset")
            }
        } else if dataset.readsPayload || dataset.parts.contains(.item) {
            throw Problem("must be a name or come from the filter's wildcards", key: "dataset")
        }
        for (key, template) in levels.sorted(by: { $0.key < $1.key }) where template.isLiteral {
            guard template.text.utf8.count <= Name.idBytesMax else {
                throw Problem("must have at most \(Name.idBytesMax) bytes", key: key)
            }
        }
    }

    private func check(domainOf format: AdapterFormat) throws(Problem) {
        guard let domain = levels["domain"] else { return }
        if domain.isLiteral, domain.text.isEmpty || domain.text == LiveTopic.notApplicable {
            throw Problem("must name a domain", key: "domain")
        }
        guard !format.domains.isEmpty, !(domain.isLiteral && format.domains.contains(domain.text.lowercased())) else { return }
        throw Problem(
            "of `\(format.name)` allowed is \(format.domains.joined(separator: ", ")): only readings of that domain are then taken",
            key: "domain")
    }
}
