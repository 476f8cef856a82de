import ArgumentParser
import Selectors
import Wire

/// `geomatch eval selector`
struct SelectorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "selector",
        abstract: "The truth of a selector for properties: true, false or null (unknown).",
        usage: "geomatch eval selector EXPRESSION PROPERTIES\ngeomatch eval selector -",
        discussion: """
            PROPERTIES is a JSON object; a property that is null counts as missing. Lines: {"selector","properties"}.

            Examples:
              geomatch eval selector "price < 3 AND kind = 'tea'" \\
                  '{"price":2.5,"kind":"tea"}'
              echo '{"id":1,"selector":"a IS NULL","properties":{}}' |
                  geomatch eval selector -
            """)

    @OptionGroup
    var output: OutputOptions

    @Argument(help: ArgumentHelp("The selector and the properties, or -.", valueName: "arguments"))
    var arguments: [String] = []

    func validate() throws { try check(arguments, wanted: "EXPRESSION PROPERTIES") }

    func run() throws {
        if arguments == ["-"] {
            var lines = JSONLines(SelectorEvaluation())
            return try lines.run()
        }
        // What cannot be read is no object, and is refused as such.
        let properties = (try? JSONValue.parse(arguments[1])) ?? .string(arguments[1])
        try SelectorEvaluation().printResult(
            of: ["selector": .string(arguments[0]), "properties": properties], asJSON: output.json)
    }
}

/// A selector over properties. The last selector is kept: scripts try one with many properties.
struct SelectorEvaluation: Evaluation {
    private var last: Selector?

    mutating func result(of arguments: JSONObject) throws(WireError) -> JSONValue {
        let selector = try selector(arguments)
        return selector.evaluate(try properties(arguments)).map { .bool($0) } ?? .null
    }

    /// Absent and `null` match all, as in a subscription.
    private mutating func selector(_ arguments: JSONObject) throws(WireError) -> Selector {
        let text = arguments["selector"] ?? .null == .null ? "" : try text("selector", in: arguments)
        if let last, last.text.utf8.elementsEqual(text.utf8) { return last }
        do throws(SelectorError) {
            let selector = try Selector(text)
            last = selector
            return selector
        } catch {
            throw WireError(.invalid, error.message, field: "selector", position: error.position)
        }
    }

    private func properties(_ arguments: JSONObject) throws(WireError) -> Properties {
        guard case .object(let object)? = arguments["properties"] else {
            return try PropertiesCoding.decode(arguments["properties"])
        }
        guard object.members.contains(where: { $0.value == .null }) else { return try PropertiesCoding.decode(.object(object)) }
        let known = object.members.filter { $0.value != .null }
        return try PropertiesCoding.decode(.object(JSONObject(known.map { ($0.key, $0.value) })))
    }
}
