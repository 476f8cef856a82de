/// What an operator decides about the page.
public struct PageConfiguration: Sendable {
    /// What is drawn below the data; nil: nothing, and the page asks no other host for anything.
    public var tiles: TileSource?

    public init() {}
}

/// Where tiles come from.
public struct TileSource: Sendable {
    /// `https://tiles.example.org/{z}/{x}/{y}.png`; nil: ``read`` has them.
    public var url: String?
    /// Shown on the map, as text.
    public var attribution: String
    /// The tile at z, x, y (rows from the north), from a file of the daemon's.
    public var read: (@Sendable (_ zoom: Int, _ column: Int, _ row: Int) -> [UInt8]?)?

    public init(url: String, attribution: String) {
        self.url = url
        self.attribution = attribution
    }

    public init(attribution: String, read: @escaping @Sendable (_ zoom: Int, _ column: Int, _ row: Int) -> [UInt8]?) {
        self.attribution = attribution
        self.read = read
    }

    /// The origin of ``url``, for the page's security policy: `https://tiles.example.org`, with `{s}` any host below it.
    public var origin: String? {
        guard let url, let scheme = url.firstRange(of: "://") else { return nil }
        let host = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let name = host.hasPrefix("{s}.") ? "*." + host.dropFirst(4) : String(host)
        let isHost = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "*"), UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
        let word = url[..<scheme.lowerBound]
        return isHost && !name.isEmpty && (word == "https" || word == "http") ? "\(word)://\(name)" : nil
    }
}
