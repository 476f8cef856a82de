import Foundation
import Logging
import Records
import Synchronization

/// The least level that is logged, which may change while the daemon runs.
enum LogThreshold {
    private static let held = Mutex(Logger.Level.info)

    static var level: Logger.Level {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }
}

/// One line for each record, on standard error: `time level message key=value …`, or a JSON object.
struct LineLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    let format: Settings.LogFormat

    init(format: Settings.LogFormat) {
        self.format = format
    }

    /// One for all loggers.
    var logLevel: Logger.Level {
        get { LogThreshold.level }
        set { LogThreshold.level = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let line = line(at: Date().formatted(Self.time), event.level, "\(event.message)", all)
        StandardError.write(line)
    }

    /// The line of a record, with its end: whatever a client or a broker made somebody say, it stays one line.
    func line(at time: String, _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> String {
        let sorted = metadata.sorted { $0.key < $1.key }
        return switch format {
        case .text: Self.text(time, level, message, sorted)
        case .json: Self.json(time, level, message, sorted)
        }
    }

    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func text(
        _ time: String, _ level: Logger.Level, _ message: String, _ metadata: [(key: String, value: Logger.MetadataValue)]
    ) -> String {
        var line =
            "\(time) \(level.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)) \(escaped(message, quotes: false))"
        for (key, value) in metadata {
            let text = "\(value)"
            let isPlain = text.unicodeScalars.allSatisfy { $0.value > 32 && $0 != "\"" && !isControl($0) }
            line += isPlain && !text.isEmpty ? " \(key)=\(text)" : " \(key)=\(quoted(text))"
        }
        return line + "\n"
    }

    private static func json(
        _ time: String, _ level: Logger.Level, _ message: String, _ metadata: [(key: String, value: Logger.MetadataValue)]
    ) -> String {
        var line = "{\"time\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"message\":\(quoted(message))"
        for (key, value) in metadata {
            let name = ["time", "level", "message"].contains(key) ? "metadata.\(key)" : key
            line += ",\(quoted(name)):\(json(value))"
        }
        return line + "}\n"
    }

    /// Numbers and booleans as such: the log statement marks them by `.stringConvertible`, so that a key keeps its type.
    private static func json(_ value: Logger.MetadataValue) -> String {
        guard case .stringConvertible(let plain) = value else { return quoted("\(value)") }
        return switch plain {
        case is any BinaryInteger, is Bool: "\(plain)"
        case let number as Double where number.isFinite: "\(number)"
        default: quoted("\(plain)")
        }
    }

    private static func quoted(_ text: String) -> String { "\"" + escaped(text, quotes: true) + "\"" }

    /// As JSON has it; C1 controls and line separators too, which some terminals and readers obey.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"" where quotes: escaped += "\\\""
            case "\\" where quotes: escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case _ where isControl(scalar):
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
    }
}
