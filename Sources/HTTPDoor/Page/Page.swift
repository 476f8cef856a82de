import Crypto
import Wire

/// The files of the page, which are part of the program.
struct Page: Sendable {
    /// One file as it is sent.
    struct File: Sendable {
        var type: String
        var bytes: [UInt8]
        /// The same, compressed.
        var gzip: [UInt8]
        /// Changes with the bytes.
        var tag: String

        init(type: String, _ bytes: [UInt8]) {
            self.type = type
            self.bytes = bytes
            gzip = Gzip.compress(bytes)
            tag = "\"" + SHA256.hash(data: bytes).prefix(12).map { String($0, radix: 16) }.joined(separator: "-") + "\""
        }
    }

    let configuration: PageConfiguration
    private let files: [String: File]

    init(_ configuration: PageConfiguration) {
        self.configuration = configuration
        var files = Self.embedded
        files["settings.json"] = File(type: "application/json", Self.settings(configuration))
        self.files = files
    }

    private static let embedded: [String: File] = [
        "index.html": File(type: "text/html; charset=utf-8", PackageResources.index_html),
        "style.css": File(type: "text/css; charset=utf-8", PackageResources.style_css),
        "icon.svg": File(type: "image/svg+xml", PackageResources.icon_svg),
        "app.mjs": script(PackageResources.app_mjs),
        "draw.mjs": script(PackageResources.draw_mjs),
        "explain.mjs": script(PackageResources.explain_mjs),
        "geometry.mjs": script(PackageResources.geometry_mjs),
        "link.mjs": script(PackageResources.link_mjs),
        "map.mjs": script(PackageResources.map_mjs),
        "model.mjs": script(PackageResources.model_mjs),
        "panels.mjs": script(PackageResources.panels_mjs),
        "socket.mjs": script(PackageResources.socket_mjs),
        "tell.mjs": script(PackageResources.tell_mjs),
        "text.mjs": script(PackageResources.text_mjs),
        "view.mjs": script(PackageResources.view_mjs),
        "worker.mjs": script(PackageResources.worker_mjs),
    ]

    private static func script(_ bytes: [UInt8]) -> File { File(type: "text/javascript; charset=utf-8", bytes) }

    /// `{"tiles"?:{"url","attribution"}}`
    private static func settings(_ configuration: PageConfiguration) -> [UInt8] {
        JSONWriter.object { writer in
            guard let tiles = configuration.tiles else { return }
            writer.key("tiles")
            writer.beginObject()
            writer.member("url", tiles.url ?? "page/tiles/{z}/{x}/{y}")
            writer.member("attribution", tiles.attribution)
            writer.endObject()
        }
    }

    func file(_ name: String) -> File? { files[name] }

    /// What the page may do: its own scripts and requests only, and images of the one place where tiles come from.
    var policy: String {
        let images = ["'self'", "data:"] + (configuration.tiles?.origin.map { [$0] } ?? [])
        return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
            + images.joined(separator: " ") + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }
}
