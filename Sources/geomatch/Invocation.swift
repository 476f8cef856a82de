import ArgumentParser
import Wire

/// The order in which the argument parser wants what people write.
enum Invocation {
    /// Moves the common options before the subcommand behind it, and names the subcommand of a request.
    ///
    /// `--dataset d watch matches` becomes `watch --dataset d matches`, and `--json device list` becomes
    /// `request --json device list`. What cannot be understood stays as it is, for the parser to refuse.
    /// - Throws: `usage` for an unknown option where the resource or subcommand would be, for a word that is nearly a
    ///   subcommand and no resource, and for a request without a verb or with parameters written as options.
    static func arranged(_ arguments: [String]) throws(CommandFailure) -> [String] {
        var rest = withJoinedNumbers(arguments)[...]
        var leading = takeOptions(from: &rest)
        guard let word = rest.first else { return leading.isEmpty ? [] : ["request"] + leading }
        if word == "help" {
            try checkHelp(rest.dropFirst().filter { !$0.hasPrefix("-") })
            return Array(rest)
        }
        if isAboutTheProgram(word) { return Array(rest) }
        guard !word.hasPrefix("-") || word == "-" || word == "--" else {
            throw .usage("unknown option \(PlainText.printable(word)); geomatch --help lists the known ones")
        }
        guard var command = subcommand(word, of: Geomatch.self) else {
            if !isNearResource(word) { try suggest(word, of: Geomatch.self, before: "there is no such command") }
            if !isResource(word), rest.prefix(while: { $0 != "--" }).contains(where: { ["--help", "-h"].contains($0) }) {
                throw unknownCommand(word)
            }
            return try request(leading, Array(rest))
        }
        var path = [word]
        rest = rest.dropFirst()
        if !command.configuration.subcommands.isEmpty {
            leading += takeOptions(from: &rest)
            guard let next = rest.first, let below = subcommand(next, of: command) else {
                if isResource(word) { return try request(leading, path + rest) }
                if let next = rest.first { try suggest(next, of: command, before: "\(word) has no subcommand of this name") }
                return path + rest + leading
            }
            // It asks no broker: an option for one, as in an alias of the whole command, does no harm.
            if command == EvalCommand.self || command == StoreCommand.self { leading = leading.filter { $0 == "--json" } }
            command = below
            path.append(next)
            rest = rest.dropFirst()
        }
        if command == BackupCommand.self || command == RestoreCommand.self { leading = leading.filter { $0 == "--json" } }
        if command == PublishCommand.self { return path + leading + withNegativePayload(rest) }
        return path + leading + (command == PlacesNearCommand.self ? rest.map(number) : Array(rest))
    }

    /// Refuses help on what is neither a command nor a request: the parser would show that of the whole program.
    ///
    /// - Throws: `usage`, with what is nearest.
    private static func checkHelp(_ words: [String]) throws(CommandFailure) {
        var command: any ParsableCommand.Type = Geomatch.self
        for (index, word) in words.enumerated() {
            guard let below = subcommand(word, of: command) else {
                if index == 0 {
                    // The parser has a help on these.
                    if word == "help" || isResource(word) { return }
                    throw unknownCommand(word)
                }
                guard !command.configuration.subcommands.isEmpty else { return }
                try suggest(word, of: command, before: "\(words[index - 1]) has no subcommand of this name")
                throw .usage("\"\(PlainText.printable(word))\": \(words[index - 1]) has no subcommand of this name")
            }
            command = below
        }
    }

    /// With the nearest command or resource, where one is near.
    private static func unknownCommand(_ word: String) -> CommandFailure {
        let names = Geomatch.configuration.subcommands.compactMap { $0.configuration.commandName }
        let near = Nearness.nearest(to: word, of: names + RequestCatalogue.all.map { String($0.resource) })
        return .usage(
            "\"\(PlainText.printable(word))\": there is no such command; "
                + (near.map { "did you mean \($0)?" } ?? "geomatch --help lists them"))
    }

    /// The words of a request, which takes parameters as `key=value`.
    private static func request(_ options: [String], _ words: [String]) throws(CommandFailure) -> [String] {
        if words.count == 1, let help = isResource(words[0]) ? RequestHelp.text(resource: words[0], verb: nil) : nil {
            throw .usage("a verb is missing:\n\n\(help)")
        }
        var rest = words.prefix { $0 != "--" }.dropFirst(2)
        while true {
            _ = takeOptions(from: &rest)
            guard let word = rest.popFirst() else { return ["request"] + options + words }
            guard word.hasPrefix("--"), !["--all", "--help", "--version"].contains(word) else { continue }
            let name = String(word.dropFirst(2).prefix { $0 != "=" })
            // The parser itself knows what is nearly an option.
            guard Nearness.nearest(to: "--" + name, of: ConnectionOptions.names) == nil else { continue }
            let fields = (RequestCatalogue.byName["\(words[0])/\(words[1])"]?.fields ?? []).map(\.name)
            let near = Nearness.nearest(to: name, of: fields).map { ": \($0)=..." } ?? ""
            throw .usage(
                "\(PlainText.printable(words[0])) \(PlainText.printable(words[1])) has no option --\(PlainText.printable(name)); "
                    + "parameters are key=value words\(near)")
        }
    }

    /// Whether a resource is as near to a word as any subcommand: the daemon says which request may be meant.
    private static func isNearResource(_ word: String) -> Bool {
        let resources = RequestCatalogue.all.map { String($0.resource) }
        let commands = Geomatch.configuration.subcommands.compactMap { $0.configuration.commandName }
        return Nearness.nearest(to: word, of: resources + commands).map(resources.contains) ?? false
    }

    /// Whether requests are about it; it may have subcommands beside them.
    static func isResource(_ word: String) -> Bool { RequestCatalogue.all.contains { $0.resource == word } }

    static func subcommand(_ word: String, of command: any ParsableCommand.Type) -> (any ParsableCommand.Type)? {
        command.configuration.subcommands.first { $0.configuration.commandName == word }
    }

    /// A negative number as the parser lets it through where no option can be meant.
    private static func number(_ word: String) -> String { isNegative(word) ? " " + word : word }

    private static func isNegative(_ word: String) -> Bool { word.hasPrefix("-") && Double(word) != nil }

    /// `--count -1` as `--count=-1`: the parser would miss the value.
    private static func withJoinedNumbers(_ arguments: [String]) -> [String] {
        var joined: [String] = []
        for (index, word) in arguments.enumerated() {
            if joined.last == "--" { return joined + arguments[index...] }
            if isNegative(word), let option = joined.last, isOptionWithValue(option) {
                joined[joined.count - 1] = "\(option)=\(word)"
            } else {
                joined.append(word)
            }
        }
        return joined
    }

    /// Of commands that take negative numbers by themselves.
    private static let flags = ["--json", "--retain"]

    private static func isOptionWithValue(_ word: String) -> Bool {
        word.hasPrefix("--") && word != "--" && !flags.contains(word) && !word.contains("=")
    }

    /// A bare payload such as `-5` is the last argument of all.
    private static func withNegativePayload(_ words: ArraySlice<String>) -> [String] {
        guard !words.contains("--"), let index = words.firstIndex(where: isNegative) else { return Array(words) }
        return words[..<index] + words[(index + 1)...] + ["--", words[index]]
    }

    /// - Throws: `usage` where a subcommand has nearly the name of `word`.
    private static func suggest(
        _ word: String, of command: any ParsableCommand.Type, before reason: String
    ) throws(CommandFailure) {
        guard !word.hasPrefix("-") else { return }
        let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let near = Nearness.nearest(to: word, of: names) else { return }
        throw .usage("\"\(PlainText.printable(word))\": \(reason); did you mean \(near)?")
    }

    /// The common options, with their values, that come first.
    static func takeOptions(from rest: inout ArraySlice<String>) -> [String] {
        var options: [String] = []
        while let first = rest.first {
            if ConnectionOptions.names.contains(first) {
                options += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else if first == "--json" || ConnectionOptions.names.contains(where: { first.hasPrefix($0 + "=") }) {
                options.append(first)
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        return options
    }

    private static func isAboutTheProgram(_ word: String) -> Bool {
        ["--help", "-h", "--version", "--generate-completion-script", "--experimental-dump-help"].contains(word)
            || word.hasPrefix("--generate-completion-script=")
    }
}
