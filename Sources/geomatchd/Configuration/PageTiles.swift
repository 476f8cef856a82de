import HTTPDoor
import LiveTopics
import MQTTDoor
import Store

/// Where the page has tiles from.
enum PageTiles: Equatable, Sendable {
    case url(String, attribution: String)
    /// An MBTiles file.
    case file(String)
}

extension SettingsReader {
    func readTiles() throws(SettingsError) -> PageTiles? {
        let url = try value("page.tiles.url") { text in
            let isWhole = ["{z}", "{x}", "{y}"].allSatisfy(text.contains)
            return isWhole && TileSource(url: text, attribution: "").origin != nil ? text : nil
        }
        let attribution = try value("page.tiles.attribution") { $0 }
        let file = try value("page.mbtiles") { $0.isEmpty ? nil : $0 }
        // A file is there also where the network is not.
        if let file { return .file(file) }
        guard let url else {
            if attribution != nil { throw error("page.tiles.attribution", "is given without page.tiles.url") }
            return nil
        }
        return .url(url, attribution: attribution ?? "")
    }

    func readHomeAssistant(beside settings: Settings) throws(SettingsError) -> HomeAssistantSettings {
        var homeAssistant = HomeAssistantSettings()
        homeAssistant.datasets = try value("home-assistant.datasets", parse: Self.list) ?? []
        homeAssistant.prefix =
            try value("home-assistant.prefix") { text in
                // With three its topics would have the seven levels of a live update.
                let levels = text.split(separator: "/", omittingEmptySubsequences: false)
                let isName = levels.allSatisfy { level in
                    !level.isEmpty && level.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"+#%".utf8.contains($0) }
                }
                return isName && levels.count <= 2 && levels[0] != "live" && levels[0] != "geomatch" ? text : nil
            } ?? homeAssistant.prefix
        return homeAssistant
    }
}

extension Settings {
    /// Where Home Assistant discovers something.
    var discoveryPrefix: String? { homeAssistant.datasets.isEmpty ? nil : homeAssistant.prefix }

    /// Lines of the printed configuration.
    var tilesLines: [String] {
        switch tiles {
        case .url(let url, let attribution):
            [
                "page:", "  tiles:", "    url: \(Self.quoted(url))", "    attribution: \(Self.quoted(attribution))",
            ]
        case .file(let path): ["page:", "  mbtiles: \(Self.quoted(path))"]
        case nil: ["page:  # without tiles"]
        }
    }

    /// - Throws: Why the file cannot be used.
    func tileSource() throws -> TileSource? {
        switch tiles {
        case .url(let url, let attribution): return TileSource(url: url, attribution: attribution)
        case .file(let path):
            let tiles = try MBTiles(path: path)
            return TileSource(attribution: tiles.attribution) { tiles.tile(zoom: $0, column: $1, row: $2) }
        case nil: return nil
        }
    }
}
