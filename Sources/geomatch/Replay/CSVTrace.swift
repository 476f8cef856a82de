/// Traces with one point on a line, separated by commas (RFC 4180, but without line breaks within quotes).
///
/// The header names the columns, in any order and case: `device`, `timestamp` (ISO 8601, or seconds or milliseconds since
/// 1970), `latitude|lat`, `longitude|lon|lng|long`, and perhaps `altitude|alt|ele` and `accuracy|acc|horizontalAccuracy`.
enum CSVTrace {
    private static var columns: [(names: [String], field: WritableKeyPath<TraceRow, String?>, isRequired: Bool)] {
        [
            (["device", "deviceid", "device_id", "id"], \.device, true),
            (["timestamp", "time", "tst", "ts"], \.timestamp, true),
            (["latitude", "lat"], \.latitude, true),
            (["longitude", "lon", "lng", "long"], \.longitude, true),
            (["altitude", "alt", "ele"], \.altitude, false),
            (["accuracy", "acc", "horizontalaccuracy", "horizontal_accuracy"], \.accuracy, false),
        ]
    }

    /// - Throws: where the header does not name the columns.
    static func read(_ text: some Collection<UInt8>) throws(TraceRowError) -> Trace {
        var lines = TraceLines(text)
        guard let header = lines.next(), let names = fields(of: header.bytes) else {
            throw TraceRowError(reason: "there is no header line device,timestamp,latitude,longitude")
        }
        let layout = try layout(of: names)
        let reader = TraceRowReader()
        var trace = Trace()
        while let line = lines.next() {
            guard let fields = fields(of: line.bytes) else {
                trace.refuse(line: line.number, "a quoted field is not closed, or the line is not UTF-8")
                continue
            }
            guard fields.count == names.count else {
                trace.refuse(line: line.number, "\(fields.count) fields, the header has \(names.count)")
                continue
            }
            var row = TraceRow()
            for (field, column) in layout {
                row[keyPath: field] = fields[column]
                if field == \TraceRow.timestamp { row.timestampName = names[column] }
            }
            trace.add(row, line: line.number, using: reader)
        }
        return trace
    }

    private static func layout(
        of header: [String]
    ) throws(TraceRowError) -> [(WritableKeyPath<TraceRow, String?>, Int)] {
        let header = header.map { $0.lowercased() }
        var layout: [(WritableKeyPath<TraceRow, String?>, Int)] = []
        for (names, field, isRequired) in columns {
            // The names are in the order of precedence.
            if let column = names.lazy.compactMap({ header.firstIndex(of: $0) }).first {
                layout.append((field, column))
            } else if isRequired {
                throw TraceRowError(reason: "the header has no column \(names[0])")
            }
        }
        return layout
    }

    /// The fields of one line without white space around them; nil where a quote is not closed or bytes are not UTF-8.
    static func fields(of line: [UInt8]) -> [String]? {
        var fields: [String] = []
        var field: [UInt8] = []
        var isQuoted = false
        var wasQuoted = false
        var index = 0
        func finish() -> Bool {
            let trimmed = wasQuoted ? field[...] : TraceLines.trimmed(field[...])
            guard let text = String(validating: trimmed, as: UTF8.self) else { return false }
            fields.append(text)
            field.removeAll(keepingCapacity: true)
            wasQuoted = false
            return true
        }
        while index < line.count {
            let byte = line[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\"") where isQuoted && index < line.count && line[index] == byte:
                field.append(byte)
                index += 1
            case UInt8(ascii: "\"") where isQuoted:
                isQuoted = false
            case UInt8(ascii: "\"") where TraceLines.trimmed(field[...]).isEmpty && !wasQuoted:
                field.removeAll()
                isQuoted = true
                wasQuoted = true
            case UInt8(ascii: ",") where !isQuoted:
                guard finish() else { return nil }
            case 0x20, 0x09:
                if isQuoted || !wasQuoted { field.append(byte) }
            default:
                field.append(byte)
            }
        }
        return !isQuoted && finish() ? fields : nil
    }
}

/// The lines of a file that hold something, with their numbers from 1.
struct TraceLines<Text: Collection<UInt8>>: IteratorProtocol {
    private var rest: Text.SubSequence
    private var number = 0

    init(_ text: Text) {
        rest = text[...]
        // A byte order mark.
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    }

    mutating func next() -> (number: Int, bytes: [UInt8])? {
        while !rest.isEmpty {
            number += 1
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            let line = TraceLines<[UInt8]>.trimmed(Array(rest[..<end])[...])
            rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
            if !line.isEmpty { return (number, Array(line)) }
        }
        return nil
    }
}

extension TraceLines where Text == [UInt8] {
    /// Without white space and record separators at either end.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let first = bytes.firstIndex(where: { $0 > 0x20 }), let last = bytes.lastIndex(where: { $0 > 0x20 }) else {
            return []
        }
        return bytes[first...last]
    }
}
