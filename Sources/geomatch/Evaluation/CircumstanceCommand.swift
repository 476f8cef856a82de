import ArgumentParser
import Circumstances
import Wire

/// `geomatch eval circumstance`
struct CircumstanceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "circumstance",
        abstract: "The normalised expression of a circumstance, or where it is wrong.",
        usage: "geomatch eval circumstance EXPRESSION\ngeomatch eval circumstance -",
        discussion: """
            Lines: {"expression"}.

            Examples:
              geomatch eval circumstance '(and (at (= category-id "cafe")) is-open)'
              echo '{"expression":"(near any-factual-place)"}' |
                  geomatch eval circumstance -
            """)

    @OptionGroup
    var output: OutputOptions

    @Argument(help: ArgumentHelp("The expression, or -.", valueName: "arguments"))
    var arguments: [String] = []

    func validate() throws { try check(arguments, wanted: "EXPRESSION") }

    func run() throws {
        if arguments == ["-"] {
            var lines = JSONLines(CircumstanceEvaluation())
            return try lines.run()
        }
        try CircumstanceEvaluation().printResult(of: ["expression": .string(arguments[0])], asJSON: output.json)
    }
}

/// An expression, read and written again.
struct CircumstanceEvaluation: Evaluation {
    func result(of arguments: JSONObject) throws(WireError) -> JSONValue {
        let text = try text("expression", in: arguments)
        do throws(CircumstanceError) {
            return .string(try CircumstanceExpression(text).text)
        } catch {
            throw WireError(.invalid, error.message, field: "expression", position: error.position)
        }
    }
}
