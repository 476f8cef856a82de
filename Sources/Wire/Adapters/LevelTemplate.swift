/// How one level of a live topic is made from a message of another ecosystem.
///
/// Plain text is literal. `$1` … `$9` is what the filter's first … ninth wildcard matched, `$item` the id that the
/// format knows the thing by, `$(a.b)` a string or number of the payload, `$$` a dollar sign. An empty level and `-` do not
/// apply.
struct LevelTemplate: Equatable, Sendable {
    enum Part: Equatable, Sendable {
        case text(String)
        /// From 0.
        case wildcard(Int)
        case item
        case payload([String])
    }

    let parts: [Part]

    init(parts: [Part]) {
        self.parts = parts
    }

    /// - Throws: A rule that the text breaks, as the rest of a sentence about it.
    init(_ text: String, wildcardCount: Int) throws(AdapterRule.Problem) {
        var parts: [Part] = []
        var plain = ""
        var rest = Substring(text).unicodeScalars
        while let scalar = rest.popFirst() {
            guard scalar == "$" else {
                plain.unicodeScalars.append(scalar)
                continue
            }
            if rest.first == "$" {
                rest.removeFirst()
                plain.unicodeScalars.append("$")
                continue
            }
            if !plain.isEmpty { parts.append(.text(plain)) }
            plain = ""
            parts.append(try Self.part(&rest, wildcardCount: wildcardCount))
        }
        if !plain.isEmpty { parts.append(.text(plain)) }
        self.parts = parts
    }

    private static func part(
        _ rest: inout Substring.UnicodeScalarView, wildcardCount: Int
    ) throws(AdapterRule.Problem) -> Part {
        if let digit = rest.first, ("1"..."9").contains(digit) {
            rest.removeFirst()
            let place = Int(digit.value) - 0x31
            guard place < wildcardCount else {
                throw AdapterRule.Problem("`$\(digit)` was read, but the filter has \(wildcardCount) wildcards")
            }
            return .wildcard(place)
        }
        if rest.starts(with: "item".unicodeScalars) {
            rest.removeFirst(4)
            return .item
        }
        if rest.first == "(", let end = rest.firstIndex(of: ")") {
            let names = String(rest[..<end].dropFirst()).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            rest = rest[rest.index(after: end)...]
            if !names.contains("") { return .payload(names) }
        }
        throw AdapterRule.Problem("after `$` allowed is 1 to 9, item, (a key of the payload), or $")
    }

    /// Whether it is the same for every message.
    var isLiteral: Bool { parts.allSatisfy { if case .text = $0 { true } else { false } } }

    /// Whether a payload decides.
    var readsPayload: Bool {
        parts.contains { if case .payload = $0 { true } else { false } }
    }

    /// The text of a literal.
    var text: String {
        parts.reduce(into: "") { if case .text(let text) = $1 { $0 += text } }
    }

    /// The id for one thing that one message is about, decoded.
    ///
    /// - Parameter level: The level's name, for the error that the payload does not have what is asked for.
    func render(_ level: String, topic: AdapterTopic, item: String, payload: JSONNode?) throws(WireError) -> String {
        var id = ""
        for part in parts {
            switch part {
            case .text(let text): id += text
            case .wildcard(let place): id += topic.wildcards[place]
            case .item: id += item
            case .payload(let names): id += try Self.value(names, of: payload, for: level)
            }
        }
        guard id.utf8.count <= Self.bytesMax else {
            throw WireError(
                .invalid, "level `\(level)` must have at most \(Self.bytesMax) bytes, not \(id.utf8.count)", field: level)
        }
        return id
    }

    private static let bytesMax = 128

    private static func value(_ names: [String], of payload: JSONNode?, for level: String) throws(WireError) -> String {
        let field = names.joined(separator: ".")
        var value = payload
        for name in names { value = value?.given(name) }
        guard let value else {
            throw WireError(.invalid, "`\(field)` is required for the level `\(level)`", field: field)
        }
        guard let id = value.idText else { throw value.error(field, "a string or a whole number for the level `\(level)`") }
        return id
    }
}
