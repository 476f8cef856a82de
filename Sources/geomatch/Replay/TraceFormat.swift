import ArgumentParser
import Foundation

/// The kinds of files that can be replayed.
enum TraceFormat: String, ExpressibleByArgument, CaseIterable {
    case csv, gpx, geojson

    /// By the ending of the name; CSV where it says nothing.
    init(path: String) {
        switch (path as NSString).pathExtension.lowercased() {
        case "gpx": self = .gpx
        case "geojson", "geojsonl", "geojsons", "json", "jsonl", "ndjson": self = .geojson
        default: self = .csv
        }
    }

    /// Reads and sorts a file.
    ///
    /// - Throws: `usage` for a file that cannot be read or has no point at all in this format's header.
    func read(path: String) throws(CommandFailure) -> Trace {
        let shown = PlainText.printable(path)
        let bytes: [UInt8]
        do {
            bytes = Array(path == "-" ? try FileHandle.standardInput.readToEnd() ?? Data() : try Self.contents(path))
        } catch let error as TraceRowError {
            throw .usage("\(shown) cannot be read: \(error.reason)")
        } catch {
            throw .usage("\(shown) cannot be read: \(error.localizedDescription)")
        }
        var trace: Trace
        switch self {
        case .csv:
            do throws(TraceRowError) {
                trace = try CSVTrace.read(bytes)
            } catch {
                throw .usage("\(shown): \(error.reason)")
            }
        case .gpx: trace = GPXTrace.read(bytes, device: Self.name(of: path))
        case .geojson: trace = GeoJSONTrace.read(bytes)
        }
        trace.sort()
        return trace
    }

    private static func contents(_ path: String) throws -> Data {
        // The system's reason, without a sentence around it.
        guard access(path, R_OK) == 0 else { throw TraceRowError(reason: String(cString: strerror(errno))) }
        return try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
    }

    /// The name of the file without folder and ending.
    private static func name(of path: String) -> String {
        path == "-" ? "track" : URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    }
}
