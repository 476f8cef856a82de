import GeomatchClient
import Wire

/// The two status messages for people.
enum StatusText {
    /// - Parameter isNamed: Somebody named the dataset.
    static func lines(
        status: JSONValue?, dataset: JSONValue?, of configuration: GeomatchConfiguration, isNamed: Bool = true
    ) -> [String] {
        guard let status = status?.asObject else {
            return ["unknown  no geomatchd was ever online at \(configuration.brokerName)"]
        }
        var line = status["state"].map(PlainText.of) ?? "unknown"
        if let version = status["version"] { line += "  geomatchd \(PlainText.of(version))" }
        if let started = status["startedAt"]?.asInt64 { line += ", started \(PlainText.instant(started))" }
        if let instance = status["instance"] { line += ", instance \(PlainText.of(instance))" }
        var lines = [line]
        if let error = status["error"] { lines.append("error: \(PlainText.of(error))") }
        guard let dataset = dataset?.asObject else {
            return lines + [
                isNamed
                    ? "dataset \(PlainText.printable(configuration.dataset)): no status"
                    : "no dataset was named: geomatch --dataset NAME status"
            ]
        }
        line = "dataset \(PlainText.printable(configuration.dataset))"
        if let at = dataset["at"]?.asInt64 { line += ", \(PlainText.instant(at))" }
        lines.append(line)
        let counters = dataset.members.filter { $0.value.asObject == nil && $0.key != "dataset" && $0.key != "at" }
        if !counters.isEmpty { lines.append("  holds      " + text(counters)) }
        for member in dataset.members {
            guard let group = member.value.asObject else { continue }
            let name = PlainText.printable(member.key)
            let values = member.key == "last" ? instants(group.members) : text(group.members)
            lines.append("  \(name)\(String(repeating: " ", count: max(1, 11 - name.count)))" + values)
        }
        return lines
    }

    private static func instants(_ members: [JSONObject.Member]) -> String {
        members.map { "\(PlainText.printable($0.key)) \($0.value.asInt64.map(PlainText.instant) ?? PlainText.of($0.value))" }
            .joined(separator: ", ")
    }

    private static func text(_ members: [JSONObject.Member]) -> String {
        members.map { "\(PlainText.printable($0.key)) \(PlainText.of($0.value))" }.joined(separator: ", ")
    }
}
