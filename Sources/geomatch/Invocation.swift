/// The order in which the argument parser wants what people write.
enum Invocation {
    /// The subcommands; any other first word is the resource of a request.
    static let subcommands = [
        "request", "watch", "pub", "replay", "status", "explain", "import", "places", "beacons", "demo", "bench", "eval", "sync",
        "help",
    ]
    static let evaluations = ["selector", "topic", "distance", "ranging", "hours", "circumstance"]
    static let imports = ["structure", "places"]
    static let lookups = ["near"]
    static let beacons = ["list", "watch", "calibrate"]
    static let demos = ["building"]
    static let optionsWithValue = [
        "--broker", "--dataset", "--client", "--topics-prefix", "--timeout", "--ca-file", "--certificate-file", "--key-file",
    ]

    /// Moves the common options that stand before the subcommand behind it, and names the subcommand of a request.
    ///
    /// `--dataset d watch matches` becomes `watch --dataset d matches`, and `--json device list` becomes
    /// `request --json device list`. What cannot be understood stays as it is, for the parser to refuse.
    /// - Throws: `usage` for an unknown option where the resource or subcommand would stand.
    static func arranged(_ arguments: [String]) throws(CommandFailure) -> [String] {
        var rest = arguments[...]
        var leading = takeOptions(from: &rest)
        guard let word = rest.first else { return leading.isEmpty ? [] : ["request"] + leading }
        if isAboutTheProgram(word) { return Array(rest) }
        guard !word.hasPrefix("-") || word == "-" || word == "--" else {
            throw .usage("unknown option \(PlainText.printable(word)); geomatch --help tells the known ones")
        }
        guard subcommands.contains(word) else { return ["request"] + leading + rest }
        rest = rest.dropFirst()
        switch word {
        case "help":
            return [word] + rest
        case "eval":
            // It asks no broker: an option for one, as in an alias of the whole command, does no harm.
            leading = (leading + takeOptions(from: &rest)).filter { $0 == "--json" }
            guard let evaluation = rest.first, evaluations.contains(evaluation) else { return [word] + rest + leading }
            return [word, evaluation] + leading + rest.dropFirst()
        case "import", "demo", "places", "beacons":
            leading += takeOptions(from: &rest)
            let kinds = ["import": imports, "demo": demos, "places": lookups, "beacons": beacons][word] ?? []
            guard let kind = rest.first, kinds.contains(kind) else {
                return [word] + rest + leading
            }
            return [word, kind] + leading + rest.dropFirst()
        default:
            return [word] + leading + rest
        }
    }

    /// The common options, with their values, that stand first.
    private static func takeOptions(from rest: inout ArraySlice<String>) -> [String] {
        var options: [String] = []
        while let first = rest.first {
            if optionsWithValue.contains(first) {
                options += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else if first == "--json" || optionsWithValue.contains(where: { first.hasPrefix($0 + "=") }) {
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
