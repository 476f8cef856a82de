import Foundation
import Wire

/// A file or folder with structure: a FeatureCollection, or an IMDF archive, packed or not.
struct StructureSource {
    /// In order from venues down to locations, so that children come after their parents in however many requests.
    private(set) var features: [JSONValue] = []
    /// What was left out or changed, for standard error.
    private(set) var notes: [String] = []
    /// Features that could not be read.
    private(set) var unreadable: [String] = []

    /// - Throws: `usage` for what cannot be read at all.
    init(path: String, naming: IMDF.Naming) throws(CommandFailure) {
        let shown = PlainText.printable(path)
        do throws(FeatureScanner.Failure) {
            try read(path, naming)
        } catch {
            throw .usage("\(shown): \(error.reason)")
        }
        sort()
    }

    private mutating func read(_ path: String, _ naming: IMDF.Naming) throws(FeatureScanner.Failure) {
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
            var tables: [String: [UInt8]] = [:]
            for table in IMDF.tables {
                let file = path + "/\(table).geojson"
                if FileManager.default.fileExists(atPath: file) { tables[table] = try Self.contents(file) }
            }
            return try take(tables, naming)
        }
        let bytes = try Self.contents(path)
        guard ZipArchive.isZip(bytes) else {
            features = try FeatureScanner.features(of: bytes).compactMap { take($0) }
            return
        }
        do throws(ZipArchive.Failure) {
            let archive = try ZipArchive(bytes)
            var tables: [String: [UInt8]] = [:]
            for entry in archive.entries {
                let name = entry.name.split(separator: "/").last.map(String.init) ?? ""
                guard let table = IMDF.tables.first(where: { "\($0).geojson" == name }), tables[table] == nil,
                    !entry.name.hasPrefix("__MACOSX/")
                else { continue }
                tables[table] = try archive.contents(of: entry)
            }
            return try takeArchive(tables, naming)
        } catch {
            throw FeatureScanner.Failure(reason: error.reason)
        }
    }

    private mutating func takeArchive(_ tables: [String: [UInt8]], _ naming: IMDF.Naming) throws(ZipArchive.Failure) {
        do throws(FeatureScanner.Failure) {
            try take(tables, naming)
        } catch {
            throw ZipArchive.Failure(reason: error.reason)
        }
    }

    private mutating func take(_ files: [String: [UInt8]], _ naming: IMDF.Naming) throws(FeatureScanner.Failure) {
        guard files["venue"] != nil else {
            throw FeatureScanner.Failure(reason: "it holds no venue.geojson, as an IMDF archive does")
        }
        var tables: [String: [JSONValue]] = [:]
        for (name, text) in files.sorted(by: { $0.key < $1.key }) {
            do throws(FeatureScanner.Failure) {
                tables[name] = try FeatureScanner.features(of: text).compactMap { take($0) }
            } catch {
                throw FeatureScanner.Failure(reason: "\(name).geojson: \(error.reason)")
            }
        }
        let archive = IMDF(tables, naming: naming)
        features = archive.features
        notes += archive.notes
    }

    private mutating func take(_ feature: FeatureScanner.Feature) -> JSONValue? {
        switch feature {
        case .success(let value): return value
        case .failure(let failure):
            unreadable.append(failure.reason)
            return nil
        }
    }

    private mutating func sort() {
        let levels = ["venue", "building", "floor", "room", "location"]
        let ranked = features.map { feature in
            let level = feature.member("properties")?.member("level") ?? feature.member("level")
            return (rank: levels.firstIndex { .string($0) == level } ?? levels.count, feature: feature)
        }
        // The library's sort is stable.
        features = ranked.sorted { $0.rank < $1.rank }.map(\.feature)
    }

    private static func contents(_ path: String) throws(FeatureScanner.Failure) -> [UInt8] {
        if path == "-" { return Array(FileHandle.standardInput.readDataToEndOfFile()) }
        guard access(path, R_OK) == 0 else { throw FeatureScanner.Failure(reason: String(cString: strerror(errno))) }
        do {
            return Array(try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe))
        } catch {
            throw FeatureScanner.Failure(reason: error.localizedDescription)
        }
    }
}
