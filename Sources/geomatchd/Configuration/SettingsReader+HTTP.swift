import HTTPDoor
import LiveTopics

// Where HTTP is offered, who is trusted there, and whose keys the file holds.

extension SettingsReader {
    /// Of an address of HTTP.
    private enum Place {
        case off
        case at(host: String, port: Int)

        init?(_ text: String) {
            if text == "off" || text == "false" {
                self = .off
            } else if let (host, port) = SettingsReader.hostAndPort(text, allowsAny: true) {
                self = .at(host: host, port: port)
            } else {
                return nil
            }
        }
    }

    func readHTTP(into settings: inout Settings) throws(SettingsError) {
        settings.keys = try readKeys()
        var http = HTTPSettings()
        http.origins = try value("http.origins", parse: Self.origins) ?? []
        http.isBehindProxy = try value("http.behind-proxy", parse: Self.boolean) ?? false
        http.matchSocketsNeedKeys = try value("http.matchmore-socket-key", parse: Self.required) ?? false
        http.tls = try readCertificate()
        let named = try value("http", parse: Place.init)
        let ofTable = try value("http.listen", parse: Place.init)
        switch named ?? ofTable ?? .at(host: http.host, port: http.port) {
        case .off: settings.http = nil
        case .at(let host, let port):
            http.host = host
            http.port = port
            settings.http = http
            guard Settings.isLoopback(host) || http.isBehindProxy || http.tls != nil else { throw Self.unprotected(host) }
        }
    }

    private func readCertificate() throws(SettingsError) -> (certificateFile: String, keyFile: String)? {
        let file: (String) -> String? = { $0.isEmpty ? nil : $0 }
        let (certificate, key) = (
            try value("http.tls.certificate-file", parse: file), try value("http.tls.key-file", parse: file)
        )
        if certificate == nil, key == nil { return nil }
        guard let certificate, let key else {
            let given = certificate == nil ? "http.tls.key-file" : "http.tls.certificate-file"
            throw error(given, "http.tls has two keys, of which one is missing: certificate-file, key-file")
        }
        return (certificate, key)
    }

    private static func unprotected(_ host: String) -> SettingsError {
        SettingsError(
            key: "http", source: .together,
            problem:
                "\(host) is reached from other machines, where keys and positions could be read on the way: give `http.tls` with certificate-file and key-file, or `http.behind-proxy: true` where a proxy of yours encrypts, or listen on 127.0.0.1"
        )
    }

    private static func required(_ text: String) -> Bool? {
        switch text {
        case "required": true
        case "optional": false
        default: nil
        }
    }

    /// `https://map.example.org`, `http://localhost:*`.
    private static func origins(_ text: String) -> [String]? {
        guard let items = list(text) else { return nil }
        let isRight = items.allSatisfy { item in
            item == "*" || (item.contains("://") && !item.hasSuffix("/") && !item.contains(" "))
        }
        return isRight ? items : nil
    }

    private func readKeys() throws(SettingsError) -> [FileKey] {
        guard let file else { return [] }
        var keys: [FileKey] = []
        for (index, members) in file.keys.enumerated() {
            func wrong(_ key: String, _ problem: String) -> SettingsError {
                SettingsError(
                    key: "keys[\(index)]" + (key.isEmpty ? "" : ".\(key)"), source: .file(file.path), problem: problem,
                    isAlone: true)
            }
            var values: [String: String] = [:]
            for (key, value) in members {
                let known = ["key", "dataset", "client"]
                guard known.contains(key) else {
                    throw wrong(key, "there is no such key; \(SettingsKey.advice(for: key, among: known))")
                }
                values[key] = value
            }
            // The value itself is a secret, and in no message.
            guard let key = values["key"], (1...1024).contains(key.utf8.count),
                key.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw wrong("key", "allowed are 1 to 1024 printable characters without spaces") }
            guard let dataset = values["dataset"], dataset == "*" || Name.isDataset(dataset) else {
                throw wrong(
                    "dataset", "`\((values["dataset"] ?? "").prefix(80))` was read, allowed is a dataset's name, or \"*\" for all"
                )
            }
            guard let client = values["client"], Name.isClient(client) else {
                throw wrong("client", "`\((values["client"] ?? "").prefix(80))` was read, allowed is a client's name")
            }
            guard !keys.contains(where: { $0.key == key }) else { throw wrong("key", "is given twice") }
            keys.append(FileKey(key: key, dataset: dataset, client: client))
        }
        return keys
    }
}
