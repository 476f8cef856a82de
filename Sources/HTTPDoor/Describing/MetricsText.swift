import DaemonCore

/// Metrics as text, in either of two formats.
///
/// Source: prometheus.io, "Exposition formats", text format 0.0.4; OpenMetrics 1.0, sections 3 and 5.
struct MetricsText {
    enum Format {
        case prometheus, openMetrics

        /// By `Accept`: OpenMetrics where that is named and not liked less than text.
        init(accept: String?) {
            let ranges = (accept ?? "").split(separator: ",").map(Self.range)
            // Scrapers name a type several times, for its versions.
            func quality(_ type: String) -> Double? { ranges.filter { $0.type == type }.map(\.quality).max() }
            let openMetrics = quality("application/openmetrics-text") ?? 0
            let text = quality("text/plain") ?? quality("text/*") ?? quality("*/*") ?? 0
            self = openMetrics > 0 && openMetrics >= text ? .openMetrics : .prometheus
        }

        /// A media range and its weight.
        ///
        /// Source: RFC 9110, sections 12.4.2 and 12.5.1.
        private static func range(_ text: Substring) -> (type: String, quality: Double) {
            let parts = text.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            // A weight that cannot be read is none.
            let quality = weight.flatMap { Double($0) }.map { $0 >= 0 ? min($0, 1) : 0 } ?? 1
            return (parts.first ?? "", quality)
        }

        var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    typealias Labels = [(name: String, value: String)]

    private let format: Format
    private(set) var text = ""

    init(_ format: Format) { self.format = format }

    /// - Parameter name: Ends with `_total`.
    mutating func counter(_ name: String, _ help: String, _ samples: [(labels: Labels, value: Double)]) {
        // OpenMetrics calls the family without the suffix of its samples.
        let family = format == .openMetrics && name.hasSuffix("_total") ? String(name.dropLast(6)) : name
        head(family, "counter", help)
        for sample in samples { line(name, sample.labels, sample.value) }
    }

    mutating func gauge(_ name: String, _ help: String, _ samples: [(labels: Labels, value: Double)]) {
        head(name, "gauge", help)
        for sample in samples { line(name, sample.labels, sample.value) }
    }

    mutating func gauge(_ name: String, _ help: String, _ value: Double) { gauge(name, help, [([], value)]) }

    mutating func counter(_ name: String, _ help: String, _ value: Double) { counter(name, help, [([], value)]) }

    mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram) {
        head(name, "histogram", help)
        var sum = 0
        for (bound, count) in zip(Histogram.bounds, histogram.counts) {
            sum += count
            line("\(name)_bucket", [("le", Self.number(bound))], Double(sum))
        }
        line("\(name)_bucket", [("le", "+Inf")], Double(histogram.count))
        line("\(name)_sum", [], histogram.seconds)
        line("\(name)_count", [], Double(histogram.count))
    }

    mutating func end() { if format == .openMetrics { text += "# EOF\n" } }

    private mutating func head(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private mutating func line(_ name: String, _ labels: Labels, _ value: Double) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",") + "}"
        }
        text += " \(Self.number(value))\n"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    private static func number(_ value: Double) -> String {
        if value == value.rounded(), value.magnitude < 1e15 { return String(Int64(value)) }
        return "\(value)"
    }
}
