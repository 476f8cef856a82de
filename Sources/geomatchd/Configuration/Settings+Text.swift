import Foundation

extension Settings {
    /// The configuration as a file would have it, without credentials.
    var text: String {
        var lines: [String] = []
        func line(_ key: String, _ value: String) { lines.append("\(key): \(value)") }
        line("broker", broker.map { $0.name + ($0.username == nil ? "" : "  # with credentials") } ?? "\"\"  # the own mosquitto")
        line("listen", "\"\(listenHost.contains(":") ? "[\(listenHost)]" : listenHost):\(listenPort)\"")
        line("data-dir", dataDirectory)
        line("http", http.map { "\"\($0)\"" } ?? "off")
        line("datasets", "[\(datasets.joined(separator: ", "))]")
        line("auto-create-datasets", "\(autoCreateDatasets)")
        line("admins", "[\(administrators.map { "\"\($0)\"" }.joined(separator: ", "))]")
        line("users", usersFile ?? "\"\"")
        line("webhooks-allow-private", "\(webhooksAllowPrivate)")
        line("start-timeout", "\(startTimeoutSeconds)")
        line("log-level", logLevel.rawValue)
        line("log-format", logFormat.rawValue)
        lines += ["topics:", "  prefix: \"\(topicsPrefix)\"", "live:", "  qos: \(liveQoS)", "  input-qos: \(liveInputQoS)"]
        lines.append("  readers: [\(liveReaders.map { "\"\($0)\"" }.joined(separator: ", "))]")
        lines += [
            "limits:", "  datasets: \(limits.datasets)", "  live-topics: \(limits.liveTopics)", "  devices: \(limits.devices)",
            "  attachments-per-device: \(limits.attachmentsPerDevice)", "  remembered-replies: \(limits.rememberedReplies)",
            "  pending-matches: \(limits.pendingMatches)", "  inflight-matches: \(limits.inflightMatches)",
        ]
        return lines.joined(separator: "\n")
    }
}
