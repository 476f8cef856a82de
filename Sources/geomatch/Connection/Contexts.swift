import Foundation
import Wire

/// A named set of connection settings from the user's file of contexts.
struct ConnectionContext: Equatable {
    static let keys = ["broker", "http", "dataset", "client", "topics-prefix", "ca-file", "certificate-file", "key-file"]

    let name: String
    private(set) var values: [String: String] = [:]

    init(_ name: String, _ values: [String: String] = [:]) {
        self.name = name
        self.values = values
    }

    /// The context of this name, or one that has only an address where the name is a URL.
    ///
    /// - Parameter name: nil: the context `default`, where the file has one.
    static func named(_ name: String?, environment: [String: String]) throws(CommandFailure) -> ConnectionContext? {
        if let name, name.contains("://") {
            return ConnectionContext(name, [name.lowercased().hasPrefix("http") ? "http" : "broker": name])
        }
        let path = path(environment)
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            guard let name else { return nil }
            throw .configuration("there is no context \(PlainText.printable(name)): \(path) cannot be read\(advice(on: name))")
        }
        let contexts = try read(text, from: path)
        if let found = contexts.first(where: { $0.name == name ?? "default" }) { return found }
        guard let name else { return nil }
        guard advice(on: name).isEmpty else {
            throw .configuration("there is no context \(PlainText.printable(name)) in \(path)\(advice(on: name))")
        }
        let near = Nearness.nearest(to: name, of: contexts.map(\.name)).map { "; did you mean \($0)?" }
        throw .configuration(
            "there is no context \(PlainText.printable(name)) in \(path)"
                + (near ?? "; it has \(contexts.map(\.name).joined(separator: ", "))"))
    }

    /// What looks like an address was hardly meant as a name.
    private static func advice(on name: String) -> String {
        guard name.contains(":") || name.contains(".") || name == "localhost" else { return "" }
        let name = PlainText.printable(name)
        return "; a broker's address is given as --broker \(name), or here as mqtt://\(name)"
    }

    /// `geomatch/contexts` in the user's configuration directory.
    static func path(_ environment: [String: String]) -> String {
        let base = environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? (environment["HOME"] ?? "") + "/.config"
        return base + "/geomatch/contexts"
    }

    /// `[name]` begins a context, `key = value` sets one of its keys, `#` begins a comment line.
    static func read(_ text: String, from path: String) throws(CommandFailure) -> [ConnectionContext] {
        var contexts: [ConnectionContext] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            func wrong(_ why: String) -> CommandFailure { .configuration("\(path), line \(index + 1): \(why)") }
            if line.hasPrefix("["), line.hasSuffix("]") {
                contexts.append(ConnectionContext(String(line.dropFirst().dropLast())))
                continue
            }
            guard let equals = line.firstIndex(of: "=") else { throw wrong("[NAME] or KEY = VALUE is expected") }
            guard !contexts.isEmpty else { throw wrong("a [NAME] is missing before the first key") }
            let key = line[..<equals].trimmingCharacters(in: .whitespaces)
            guard keys.contains(key) else {
                let near = Nearness.nearest(to: key, of: keys).map { "did you mean \($0)?" }
                throw wrong(
                    "there is no key \(PlainText.printable(key)); \(near ?? "the keys are \(keys.joined(separator: ", "))")")
            }
            let value = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            contexts[contexts.count - 1].values[key] = value
        }
        return contexts
    }
}
