import ArgumentParser
import Wire

/// `geomatch eval …`: the rules of geomatch, tried without a daemon.
struct EvalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "eval",
        abstract: "Try selectors, topic filters, opening hours, distances, ranging and circumstances without a daemon.",
        discussion: """
            With `-` instead of arguments, JSON objects are read from standard input, one on a line, and each is answered by one \
            line: {"id"?,"result":…} or {"id"?,"error":{…}}, with the id of the line. Empty lines are left out.
            """,
        subcommands: [
            SelectorCommand.self, TopicCommand.self, DistanceCommand.self, RangingCommand.self, CircumstanceCommand.self,
            HoursCommand.self,
        ])
}

/// One of the evaluations: a JSON object in, a value out.
protocol Evaluation {
    mutating func result(of arguments: JSONObject) throws(WireError) -> JSONValue
}

extension Evaluation {
    /// The value of one set of arguments on standard output; a text as it is, unless JSON is asked for.
    func printResult(of arguments: JSONObject, asJSON: Bool) throws {
        var evaluation = self
        do throws(WireError) {
            let value = try evaluation.result(of: arguments)
            if case .string(let text) = value, !asJSON { return StandardOutput.print(text) }
            StandardOutput.print(String(decoding: value.serialised(), as: UTF8.self))
        } catch {
            throw CommandFailure.errorReply(ErrorText.of(error, in: arguments, asJSON: asJSON))
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
    /// Throws unless there are the arguments that were `wanted`, or `-`.
    func check(_ arguments: [String], wanted: String) throws {
        let count = wanted.split(separator: " ").count
        guard arguments == ["-"] || arguments.count == count else {
            let verb = count == 1 ? "is" : "are"
            throw ValidationError("\(wanted) \(verb) needed, or - for standard input; \(arguments.count) arguments were given")
        }
        // Negative numbers are arguments, and so everything with a hyphen would be.
        if let option = arguments.first(where: { $0.hasPrefix("--") && $0.utf8.count > 2 }), count == 4 {
            throw ValidationError("Unknown option '\(PlainText.printable(option))'")
        }
    }
}
