/// Text as it is in a URL.
enum PercentCoding {
    private static let parametersMax = 100

    /// The decoded levels between slashes; nil where one is no UTF-8.
    static func levels(of path: some Collection<UInt8>) -> [String]? {
        var levels: [String] = []
        for level in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let text = decode(level, plusIsSpace: false) else { return nil }
            levels.append(text)
        }
        return levels
    }

    /// `name=value&…`, decoded; nil where it cannot be read.
    static func query(_ text: some Collection<UInt8>) -> [(name: String, value: String)]? {
        var parameters: [(name: String, value: String)] = []
        for part in text.split(separator: UInt8(ascii: "&")) {
            let end = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            guard parameters.count < parametersMax, let name = decode(part[..<end], plusIsSpace: true),
                let value = decode(part[end...].dropFirst(), plusIsSpace: true)
            else { return nil }
            parameters.append((name, value))
        }
        return parameters
    }

    /// A percent sign that begins no code is itself.
    private static func decode(_ text: some Collection<UInt8>, plusIsSpace: Bool) -> String? {
        guard text.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
            return String(validating: text, as: UTF8.self)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let code = code(rest) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func code(_ rest: some Collection<UInt8>) -> UInt8? {
        let digits = rest.prefix(2).compactMap(digit)
        return digits.count == 2 ? digits[0] << 4 | digits[1] : nil
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 48
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 87
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 55
        default: nil
        }
    }
}
