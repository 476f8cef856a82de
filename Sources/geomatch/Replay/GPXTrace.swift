/// Tracks of GPX 1.0 and 1.1: each `trkpt` is a point, the track's `name` its device.
enum GPXTrace {
    /// - Parameter fallback: The device of tracks without a name.
    static func read(_ text: [UInt8], device fallback: String) -> Trace {
        var scanner = MarkupScanner(text)
        let reader = TraceRowReader()
        var trace = Trace()
        var track = Track()
        while let piece = scanner.next() {
            switch piece {
            case .start(let name, let attributes): track.start(name, attributes, line: scanner.line)
            case .text(let text): track.text += text
            case .end(let name):
                guard track.end(name) else { continue }
                for (line, row) in track.rows {
                    var row = row
                    row.device = track.name ?? fallback
                    trace.add(row, line: line, using: reader)
                }
                track = Track()
            }
        }
        // A recorder that lost its power leaves a file without an end; its points are points all the same.
        for (line, row) in track.rows {
            var row = row
            row.device = track.name ?? fallback
            trace.add(row, line: line, using: reader)
        }
        return trace
    }

    /// One track as far as it has been read. The name may follow the points.
    private struct Track {
        var name: String?
        var rows: [(line: Int, row: TraceRow)] = []
        var text = ""
        private var isTrack = false
        private var point: (line: Int, row: TraceRow)?

        mutating func start(_ element: String, _ attributes: [String: String], line: Int) {
            text = ""
            if element == "trk" { isTrack = true }
            if element == "trkpt", isTrack {
                point = (line, TraceRow(timestampName: "time", latitude: attributes["lat"], longitude: attributes["lon"]))
            }
        }

        /// True where the track is complete.
        mutating func end(_ element: String) -> Bool {
            let value = Self.trimmed(text)
            text = ""
            switch element {
            case "trkpt":
                if let point { rows.append(point) }
                point = nil
            case "time": point?.row.timestamp = value
            case "ele": point?.row.altitude = value
            case "name" where isTrack && point == nil && name == nil: name = value.isEmpty ? nil : value
            case "trk": return isTrack
            default: break
            }
            return false
        }

        private static func trimmed(_ text: String) -> String {
            String(decoding: TraceLines<[UInt8]>.trimmed(Array(text.utf8)[...]), as: UTF8.self)
        }
    }
}
