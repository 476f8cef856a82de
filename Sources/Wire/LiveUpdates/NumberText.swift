/// Numbers that arrive as text.
///
/// Read is the form JSON has, and a leading `+` and zeros beside it; not `0x10`, `nan`, `.5` or `1,5`.
enum NumberText {
    private static let bytesMax = 64

    /// The number, nil where the text is none or none that a double can hold.
    static func double(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        guard isDecimal(text), let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value
    }

    /// The whole number, nil where the text is none within `Int64`. `7.0` and `7e2` are whole.
    static func integer(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        if let value = Int64(String(decoding: text.prefix(bytesMax), as: UTF8.self)), text.count <= bytesMax { return value }
        return double(text)?.whole
    }

    private static func isDecimal(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count <= bytesMax else { return false }
        var rest = text[...]
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        guard skipDigits(&rest) else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard skipDigits(&rest) else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard skipDigits(&rest) else { return false }
        }
        return rest.isEmpty
    }

    private static func skipDigits(_ rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let before = rest.count
        rest = rest.drop { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        return rest.count < before
    }
}
