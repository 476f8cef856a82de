import Wire

/// Help for requests, read off the catalogue that the daemon checks them by.
enum RequestHelp {
    private static let columnsMax = 80

    /// The help that `geomatch RESOURCE [VERB] --help` or `geomatch help RESOURCE [VERB]` asks for; nil where the arguments are no
    /// request, or ask for no help.
    static func asked(for arguments: [String]) -> String? {
        var rest = arguments.prefix { $0 != "--" }[...]
        let asksFirst = rest.first == "help"
        if asksFirst { rest = rest.dropFirst() }
        guard asksFirst || rest.contains("--help") || rest.contains("-h") else { return nil }
        _ = Invocation.takeOptions(from: &rest)
        if rest.first == "request" { rest = rest.dropFirst() }
        let words = rest.filter { !$0.hasPrefix("-") && !$0.contains("=") }
        guard rest.first?.hasPrefix("-") == false, let resource = words.first, !isSubcommand(words) else { return nil }
        return text(resource: resource, verb: words.dropFirst().first)
    }

    /// Whether the words name a subcommand rather than a request.
    private static func isSubcommand(_ words: [String]) -> Bool {
        guard let command = Invocation.subcommand(words[0], of: Geomatch.self) else { return false }
        return !Invocation.isResource(words[0]) || words.count > 1 && Invocation.subcommand(words[1], of: command) != nil
    }

    static func text(resource: String, verb: String?) -> String? {
        let all = RequestCatalogue.all
        if let verb {
            if let known = RequestCatalogue.byName["\(resource)/\(verb)"] { return text(of: known) }
            if let near = RequestCatalogue.nearest(to: "\(resource)/\(verb)").flatMap({ RequestCatalogue.byName[$0] }) {
                return "There is no request \(resource) \(verb); did you mean \(near.resource) \(near.verb)?\n\n" + text(of: near)
            }
        }
        let resources = all.map { String($0.resource) }
        guard let known = resources.contains(resource) ? resource : Nearness.nearest(to: resource, of: resources) else {
            return nil
        }
        let requests = all.filter { $0.resource == known }
        let width = requests.map(\.verb.count).max() ?? 0
        var lines = requests.map { request in
            row(String(request.verb), width, request.abstract)
        }
        for command in Invocation.subcommand(known, of: Geomatch.self)?.configuration.subcommands ?? [] {
            lines.append(row(command.configuration.commandName ?? "", width, command.configuration.abstract))
        }
        let mistake =
            known != resource
            ? "There is no command \(PlainText.printable(resource)); did you mean \(known)?\n\n"
            : verb.map { "There is no request \(resource) \(PlainText.printable($0)).\n\n" } ?? ""
        return mistake + "geomatch \(known) VERB [key=value ... | JSON]\n\n" + lines.joined(separator: "\n")
            + "\n\n`geomatch \(known) VERB --help` lists the parameters of one."
            + (requests.first.map { "\n\nExample:\n  geomatch \($0.example)" } ?? "")
    }

    private static func text(of request: RequestDescription) -> String {
        let width = request.fields.map(\.name.count).max() ?? 0
        var text = "geomatch \(request.resource) \(request.verb)" + (request.fields.isEmpty ? "" : " key=value ...")
        text += "\n\n\(request.abstract)\n"
        for field in request.fields {
            text += "\n" + row(field.name, width, (field.isRequired ? "required: " : "") + field.takes)
            let inner: [RequestField] =
                switch field.content {
                case .any, .list: []
                case .object(let fields), .area(let fields): fields
                }
            if !inner.isEmpty { text += "\n" + row("", width, "members: " + inner.map(\.name).joined(separator: ", ")) }
        }
        text += "\n\n" + row("--json", 6, "Print the result as one line of JSON.")
        return text + "\n\nExample:\n  geomatch \(request.example)"
    }

    /// A name and what is said of it, wrapped behind the column of names.
    private static func row(_ name: String, _ width: Int, _ text: String) -> String {
        let indent = String(repeating: " ", count: width + 4)
        var lines: [String] = []
        var line = "  " + name + String(repeating: " ", count: width + 2 - name.count)
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > columnsMax {
                lines.append(line)
                line = indent
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return (lines + [line]).joined(separator: "\n")
    }
}
