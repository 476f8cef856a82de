import Foundation
import Yams

/// A YAML file as flat keys: a dot is one level of nesting, a list is its scalars.
struct ConfigurationFile {
    let path: String
    private let leftOut: Set<String>
    private(set) var values: [String: String] = [:]
    /// The entries of `adapters`, each as its keys and values in their order.
    private(set) var adapters: [[(key: String, value: String)]] = []
    /// The entries of `access`, lists joined by commas; nil without the key.
    private(set) var access: [[(key: String, value: String)]]?
    /// The entries of `keys`.
    private(set) var keys: [[(key: String, value: String)]] = []

    /// - Parameter leftOut: Keys that are taken as if they were not there.
    /// - Throws: ``SettingsError`` naming the file, and the key where one is wrong.
    init(path: String, leavingOut leftOut: Set<String> = []) throws(SettingsError) {
        self.path = path
        self.leftOut = leftOut
        let text = try Self.text(ofFile: path)
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch {
            throw SettingsError(key: "", source: .file(path), problem: "is not YAML: \(Self.problem(error))")
        }
        guard let root, root.null == nil || root.mapping != nil else { return }
        guard let mapping = root.mapping else {
            throw SettingsError(key: "", source: .file(path), problem: "has no keys at its top")
        }
        try flatten(mapping, below: "")
    }

    private mutating func flatten(_ mapping: Node.Mapping, below prefix: String) throws(SettingsError) {
        for (keyNode, value) in mapping {
            let key = prefix + (keyNode.string ?? "")
            if leftOut.contains(key) { continue }
            if key == Self.adaptersKey {
                adapters = try entries(value, of: key)
                continue
            }
            if key == Self.keysKey {
                keys = try entries(value, of: key)
                continue
            }
            if key == Self.accessKey {
                if value.null == nil { access = try entries(value, of: key, takesLists: true) }
                continue
            }
            if let nested = value.mapping {
                if !Self.isSection(key), let known = SettingsKey.all.first(where: { $0.name == key }) {
                    throw SettingsError(
                        key: key, source: .file(path), problem: "has keys below it, allowed is \(known.takes)", isAlone: true)
                }
                guard Self.isSection(key) else { throw unknown(key) }
                try flatten(nested, below: key + ".")
                continue
            }
            // A section whose keys are all comments.
            if value.null != nil, Self.isSection(key) { continue }
            guard SettingsKey.all.contains(where: { $0.name == key }) else {
                throw Self.isSection(key) ? notTable(value, key) : unknown(key)
            }
            guard values[key] == nil else {
                throw SettingsError(key: key, source: .file(path), problem: "is given twice", isAlone: true)
            }
            if let list = value.sequence {
                let items = list.map { $0.scalar?.string }
                guard !items.contains(nil) else {
                    throw SettingsError(key: key, source: .file(path), problem: "is a list of plain values", isAlone: true)
                }
                values[key] = items.compactMap { $0 }.joined(separator: ",")
            } else if let scalar = value.scalar, value.null == nil {
                values[key] = scalar.string
            }
        }
    }

    private static let adaptersKey = "adapters"
    private static let accessKey = "access"
    private static let keysKey = "keys"

    /// A list of mappings whose values are plain, or lists of plain values; none where all of it is comments.
    private func entries(
        _ list: Node, of name: String, takesLists: Bool = false
    ) throws(SettingsError) -> [[(key: String, value: String)]] {
        if list.null != nil { return [] }
        guard let sequence = list.sequence else { throw notEntries(list, name, of: name) }
        var entries: [[(key: String, value: String)]] = []
        for (index, node) in sequence.enumerated() {
            guard let mapping = node.mapping else { throw notEntries(node, "\(name)[\(index)]", of: name) }
            var entry: [(key: String, value: String)] = []
            for (keyNode, value) in mapping {
                let key = keyNode.string ?? ""
                let items = value.sequence.map { $0.map { $0.scalar?.string } }
                if takesLists, let items, !items.contains(nil) {
                    entry.append((key, items.compactMap { $0 }.joined(separator: ",")))
                    continue
                }
                guard let scalar = value.scalar else {
                    throw SettingsError(
                        key: "\(name)[\(index)].\(key)", source: .file(path),
                        problem: takesLists ? "is a plain value or a list of them" : "is a plain value", isAlone: true)
                }
                if value.null == nil { entry.append((key, scalar.string)) }
            }
            entries.append(entry)
        }
        return entries
    }

    private func notEntries(_ node: Node, _ key: String, of name: String) -> SettingsError {
        let takes = SettingsKey.all.first { $0.name == name }?.takes ?? ""
        // A key is a secret, and in no message.
        let read = name == Self.keysKey ? "" : "\(Self.shown(node)) was read, "
        return SettingsError(key: key, source: .file(path), problem: "\(read)allowed is \(takes)", isAlone: true)
    }

    private func notTable(_ node: Node, _ key: String) -> SettingsError {
        let keys = SettingsKey.all.map(\.name).filter { $0.hasPrefix(key + ".") }.map { $0.dropFirst(key.count + 1) }
        return SettingsError(
            key: key, source: .file(path),
            problem: "\(Self.shown(node)) was read, allowed is a table with \(keys.joined(separator: ", "))", isAlone: true)
    }

    private static func shown(_ node: Node) -> String {
        if let scalar = node.scalar { return "`\(scalar.string.prefix(80))`" }
        return node.sequence == nil ? "a table" : "a list"
    }

    private static func text(ofFile path: String) throws(SettingsError) -> String {
        func refusal(_ problem: String) -> SettingsError {
            SettingsError(key: "", source: .file(path), problem: "cannot be read: \(problem)")
        }
        guard let file = fopen(path, "r") else { throw refusal(String(cString: strerror(errno))) }
        fclose(file)
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw refusal("it is a folder, or not UTF-8") }
        return text
    }

    private static func isSection(_ key: String) -> Bool {
        SettingsKey.all.contains { $0.name.hasPrefix(key + ".") }
    }

    /// What is wrong and where; never the line itself, which may hold a password.
    private static func problem(_ error: any Error) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _), .composer(_, let problem, let mark, _):
            "line \(mark.line), column \(mark.column): \(problem)"
        case .reader(let problem, _, _, _): problem
        case .duplicatedKeysInMapping(_, let context):
            "\(context.mark.line > 0 ? "line \(context.mark.line): " : "")a key is given twice"
        default: "it cannot be read"
        }
    }

    private func unknown(_ key: String) -> SettingsError {
        let advice = SettingsKey.advice(for: key, among: SettingsKey.all.map(\.name))
        return SettingsError(key: key, source: .file(path), problem: "there is no such key; \(advice)", isAlone: true)
    }
}
