import Foundation
import Yams

/// A YAML file as flat keys: a dot is one level of nesting, a list is its scalars.
struct ConfigurationFile {
    let path: String
    private(set) var values: [String: String] = [:]

    /// - Throws: ``SettingsError`` naming the file, and the key where one is wrong.
    init(path: String) throws(SettingsError) {
        self.path = path
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw SettingsError(key: "", source: .file(path), problem: "cannot be read: it is missing, not readable or not UTF-8")
        }
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch {
            throw SettingsError(key: "", source: .file(path), problem: "is not YAML: \(error)")
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
            if let nested = value.mapping {
                guard SettingsKey.all.contains(where: { $0.name.hasPrefix(key + ".") }) else { throw unknown(key) }
                try flatten(nested, below: key + ".")
                continue
            }
            guard SettingsKey.all.contains(where: { $0.name == key }) else { throw unknown(key) }
            guard values[key] == nil else { throw SettingsError(key: key, source: .file(path), problem: "stands twice") }
            if let list = value.sequence {
                let items = list.map { $0.scalar?.string }
                guard !items.contains(nil) else {
                    throw SettingsError(key: key, source: .file(path), problem: "is a list of plain values")
                }
                values[key] = items.compactMap { $0 }.joined(separator: ",")
            } else if let scalar = value.scalar, value.null == nil || !scalar.string.isEmpty {
                values[key] = scalar.string
            }
        }
    }

    private func unknown(_ key: String) -> SettingsError {
        if key == "adapters" || key.hasPrefix("adapters.") {
            return SettingsError(
                key: key, source: .file(path), problem: "adapters are not offered by this version; publish on live topics instead")
        }
        let names = SettingsKey.all.map(\.name).joined(separator: ", ")
        return SettingsError(key: key, source: .file(path), problem: "there is no such key; the keys are \(names)")
    }
}
