/// The text of UUIDs as beacons and their makers write them.
public enum UUIDText {
    /// Upper case with hyphens (8-4-4-4-12); nil unless the text is 32 hexadecimal digits in any case with hyphens
    /// anywhere between them.
    public static func canonical(_ text: String) -> String? {
        guard text.utf8.count <= 64 else { return nil }
        var digits: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(byte)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(byte - 0x20)
            case UInt8(ascii: "-"): continue
            default: return nil
            }
            if [8, 13, 18, 23].contains(digits.count) { digits.append(UInt8(ascii: "-")) }
        }
        return digits.count == 36 ? String(decoding: digits, as: UTF8.self) : nil
    }
}
