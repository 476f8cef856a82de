import Foundation
import Logging

/// One line for each record, on standard error: `time level message key=value …`, or a JSON object.
struct LineLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    let format: Settings.LogFormat

    init(level: Logger.Level, format: Settings.LogFormat) {
        logLevel = level
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        let time = Date().formatted(Self.time)
        let line =
            switch format {
            case .text: Self.text(time, event.level, "\(event.message)", all)
            case .json: Self.json(time, event.level, "\(event.message)", all)
            }
        FileHandle.standardError.write(Data(line.utf8))
    }

    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func text(
        _ time: String, _ level: Logger.Level, _ message: String, _ metadata: [(key: String, value: Logger.MetadataValue)]
    ) -> String {
        var line = "\(time) \(level.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)) \(message)"
        for (key, value) in metadata {
            let text = "\(value)"
            line += text.contains(where: { $0 == " " || $0 == "\n" || $0 == "\"" }) ? " \(key)=\(quoted(text))" : " \(key)=\(text)"
        }
        return line + "\n"
    }

    private static func json(
        _ time: String, _ level: Logger.Level, _ message: String, _ metadata: [(key: String, value: Logger.MetadataValue)]
    ) -> String {
        var line = "{\"time\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"message\":\(quoted(message))"
        for (key, value) in metadata { line += ",\(quoted(key)):\(quoted("\(value)"))" }
        return line + "}\n"
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            default:
                if scalar.value < 32 {
                    quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
                } else {
                    quoted.unicodeScalars.append(scalar)
                }
            }
        }
        return quoted + "\""
    }
}
