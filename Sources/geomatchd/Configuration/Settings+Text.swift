import Records

extension Settings {
    /// The configuration as a file would have it, without credentials: read back, it is the same but for those.
    var text: String {
        var lines: [String] = []
        func line(_ key: String, _ value: String) { lines.append("\(key): \(value)") }
        if let broker {
            line("broker", Self.quoted(broker.name) + (broker.username == nil ? "" : "  # with credentials"))
        } else {
            lines.append("broker:  # the embedded mosquitto")
        }
        line("listen", Self.quoted("\(listenHost.contains(":") ? "[\(listenHost)]" : listenHost):\(listenPort)"))
        line("data-dir", Self.quoted(dataDirectory))
        if let store {
            line("store", Self.quoted(store.name) + "  # without credentials")
        } else {
            lines.append("store:  # in data-dir")
        }
        if let cluster { line("cluster", Self.quoted(cluster)) } else { lines.append("cluster:  # none: this daemon is alone") }
        if let node { line("node", Self.quoted(node)) }
        lines += httpLines
        if let httpAdvertised { line("http-advertise", Self.quoted(httpAdvertised)) }
        line("datasets", Self.list(datasets))
        line("auto-create-datasets", "\(autoCreateDatasets)")
        line("admins", Self.list(administrators))
        if let usersFile { line("users", Self.quoted(usersFile)) } else { lines.append("users:") }
        line("webhooks-allow-private", "\(webhooksAllowPrivate)")
        line("start-timeout", "\(startTimeoutSeconds)")
        line("log-level", logLevel.rawValue)
        line("log-format", logFormat.rawValue)
        lines += encryptedListenerLines + tlsLines
        lines += ["topics:", "  prefix: \(Self.quoted(topicsPrefix))"]
        lines += [
            "live:", "  qos: \(liveQoS)", "  input-qos: \(liveInputQoS)", "  shared-memory: \(liveSharesMemory)",
            "  readers: \(Self.list(liveReaders))",
        ]
        lines += ["metrics:", "  per-dataset: \(metricsPerDataset)"]
        lines += tilesLines
        lines += [
            "home-assistant:", "  datasets: \(Self.list(homeAssistant.datasets))",
            "  prefix: \(Self.quoted(homeAssistant.prefix))",
        ]
        lines += push.lines
        lines += accessLines + adapterLines
        lines.append(keys.isEmpty ? "keys: []" : "keys:  # \(keys.count), which are not shown")
        lines.append("\(SettingsLimit.section):")
        lines.append("  connections: \(connectionsMaximum)")
        lines.append("  http-connections: \(httpLimits.connections)")
        lines += SettingsLimit.all.map { "  \($0.name): \(limits[keyPath: $0.path])" }
        return lines.joined(separator: "\n")
    }

    private var encryptedListenerLines: [String] {
        guard let listener = encryptedListener else { return [] }
        let host = listener.host.contains(":") ? "[\(listener.host)]" : listener.host
        return [
            "listen-tls:", "  listen: \(Self.quoted("\(host):\(listener.port)"))",
            "  certificate-file: \(Self.quoted(listener.certificateFile))", "  key-file: \(Self.quoted(listener.keyFile))",
        ]
    }

    private var accessLines: [String] {
        guard let access else { return ["access:  # everybody may do all"] }
        if access.isEmpty { return ["access: []"] }
        return ["access:"]
            + access.flatMap { entry in
                [
                    "  - users: \(Self.list(entry.users))", "    datasets: \(Self.list(entry.datasets))",
                    "    read: \(entry.read.rawValue)", "    write: \(entry.write.rawValue)",
                ]
            }
    }

    private var adapterLines: [String] {
        if adapters.isEmpty { return ["adapters: []"] }
        return ["adapters:"]
            + adapters.flatMap { adapter in
                adapter.members.enumerated().map { index, member in
                    "  \(index == 0 ? "-" : " ") \(member.key): \(Self.quoted(member.value))"
                }
            }
    }

    private var tlsLines: [String] {
        let files = [
            ("ca-file", broker?.tls?.caFile), ("certificate-file", broker?.tls?.certificateFile),
            ("key-file", broker?.tls?.keyFile),
        ]
        let given = files.compactMap { name, path in path.map { "  \(name): \(Self.quoted($0))" } }
        return given.isEmpty ? [] : ["tls:"] + given
    }

    static func list(_ items: [String]) -> String {
        "[\(items.map(quoted).joined(separator: ", "))]"
    }

    /// A double-quoted YAML scalar: any path or pattern is read back as it was.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22, 0x5C: quoted += "\\\(scalar)"
            // Printable everywhere; the rest YAML may refuse, fold or take for a line's end.
            case 0x20...0x7E, 0xA1...0x1FFF, 0x3000...0xD7FF: quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            }
        }
        return quoted + "\""
    }
}
