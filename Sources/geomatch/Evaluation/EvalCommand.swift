import ArgumentParser
import Wire

/// `geomatch eval …`: the rules of geomatch, tried without a daemon.
struct EvalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "eval",
        abstract: "Try selectors, topic filters and distances without a daemon.",
        discussion: """
            With `-` instead of arguments, JSON objects are read from standard input, one on a line, and each is answered by one \
            line: {"id"?,"result":…} or {"id"?,"error":{…}}, with the id of the line. Empty lines are left out.
            """,
        subcommands: [SelectorCommand.self, TopicCommand.self, DistanceCommand.self])
}

/// One of the evaluations: a JSON object in, a value out.
protocol Evaluation {
    mutating func result(of arguments: JSONObject) throws(WireError) -> JSONValue
}

extension Evaluation {
    /// The value of one set of arguments on standard output.
    func printResult(of arguments: JSONObject, asJSON: Bool) throws {
        var evaluation = self
        do throws(WireError) {
            let value = try evaluation.result(of: arguments)
            StandardOutput.print(String(decoding: value.serialised(), as: UTF8.self))
        } catch {
            throw CommandFailure.errorReply(ErrorText.of(error, asJSON: asJSON))
        }
    }

    /// A text among the arguments.
    func text(_ key: String, in arguments: JSONObject) throws(WireError) -> String {
        guard let value = arguments[key] else { throw WireError(.invalid, "`\(key)` is required", field: key) }
        guard case .string(let text) = value else { throw WireError(.invalid, "`\(key)` must be a string", field: key) }
        return text
    }
}

extension ParsableCommand {
    /// True where `-` asks for standard input; throws unless the arguments are else complete.
    func readsStandardInput(_ arguments: [String], names: [String]) throws -> Bool {
        if arguments == ["-"] { return true }
        guard arguments.count == names.count else {
            let wanted = names.map { $0.uppercased() }.joined(separator: " ")
            throw ValidationError("\(wanted) are needed, or - for standard input; \(arguments.count) arguments were given")
        }
        return false
    }
}
