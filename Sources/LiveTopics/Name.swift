/// The rules that names of tenants, clients and objects follow.
public enum Name {
    /// Whether `name` can be a dataset: 1–64 of `A-Z a-z 0-9 . _ -`, not `live` or `geomatch`, which begin the
    /// daemon's own topics, and not `-`, which means no dataset.
    public static func isDataset(_ name: String) -> Bool {
        isPlain(name) && !reservedDatasets.contains(name) && name != LiveTopic.notApplicable
    }

    /// Whether `name` can be a client: 1–64 of `A-Z a-z 0-9 . _ -`, not `diagnostics` or `status`, which stand in
    /// the same level of the daemon's topics.
    public static func isClient(_ name: String) -> Bool {
        isPlain(name) && name != "diagnostics" && name != "status"
    }

    /// Whether `name` can be an id: 1–128 bytes of UTF-8, not `-` alone.
    public static func isID(_ name: String) -> Bool {
        (1...idBytesMax).contains(name.utf8.count) && name != LiveTopic.notApplicable
    }

    /// Bytes of UTF-8 of the longest id.
    public static let idBytesMax = 128

    static let reservedDatasets = ["live", "geomatch"]

    static func isPlain(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.allSatisfy(isPlain)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default:
            false
        }
    }
}
